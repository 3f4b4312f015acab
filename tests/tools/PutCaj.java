// Sends COUNT puts to each PV with CAJ, the Channel Access client in Java. Protocol on stdin and stdout: that
// of ca_flood.c.
//
//   java -cp jca.jar PutCaj.java COUNT write|write_notify PV...
//
// The servers are those of EPICS_CA_ADDR_LIST.
import gov.aps.jca.CAStatus;
import gov.aps.jca.Channel;
import gov.aps.jca.Context;
import gov.aps.jca.JCALibrary;
import gov.aps.jca.configuration.DefaultConfiguration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public final class PutCaj {
  private static final double TIMEOUT_S = 20;

  private static Context connect() throws Exception {
    DefaultConfiguration settings = new DefaultConfiguration("context");
    settings.setAttribute("class", JCALibrary.CHANNEL_ACCESS_JAVA);
    settings.setAttribute("addr_list", System.getenv("EPICS_CA_ADDR_LIST"));
    settings.setAttribute("auto_addr_list", "false");
    return JCALibrary.getInstance().createContext(settings);
  }

  private static void putAndWait(Context context, Channel channel, double value, AtomicInteger refused)
      throws Exception {
    CountDownLatch answered = new CountDownLatch(1);
    channel.put(value, event -> {
      if (event.getStatus() != CAStatus.NORMAL) refused.incrementAndGet();
      answered.countDown();
    });
    context.flushIO();
    if (!answered.await((long) TIMEOUT_S, TimeUnit.SECONDS))
      throw new IllegalStateException("no answer for " + channel.getName());
  }

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[0]);
    boolean notify = args[1].equals("write_notify");
    Context context = connect();
    Channel[] channels = new Channel[args.length - 2];
    for (int i = 0; i < channels.length; i++) channels[i] = context.createChannel(args[i + 2]);
    context.pendIO(TIMEOUT_S);
    System.out.println("@connected");
    System.in.read();

    AtomicInteger refused = new AtomicInteger();
    for (int value = 0; value < count; value++) {
      for (Channel channel : channels) {
        if (notify) putAndWait(context, channel, value, refused);
        else channel.put((double) value);
      }
      context.flushIO();
    }
    // A circuit is served in order: once the gets are answered, the puts before them are done.
    for (Channel channel : channels) channel.get();
    context.pendIO(TIMEOUT_S);
    System.out.println("@sent " + (long) count * channels.length);
    while (System.in.read() >= 0) {
      // until the end of stdin
    }
    context.destroy();
    System.exit(refused.get() == 0 ? 0 : 1);
  }
}
