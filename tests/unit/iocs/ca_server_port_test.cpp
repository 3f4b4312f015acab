#include "iocs/find/listening_sockets.h"

#include <gtest/gtest.h>

#include "database_image.h"

namespace ioc_exporter::iocs {
namespace {

TEST(CaServerPort, FirstThatIsSet) {
  const auto memory = own_memory();
  ASSERT_NE(memory, nullptr);
  const std::uint16_t ports[]{0, 5064, 7};
  const std::uint64_t all[]{DatabaseImage::address(&ports[0]), DatabaseImage::address(&ports[1]),
                            DatabaseImage::address(&ports[2])};
  const auto port = read_ca_server_port(*memory, all, "ioc X");
  ASSERT_TRUE(port);
  EXPECT_EQ(*port, 5064);
  const auto not_yet = read_ca_server_port(*memory, std::span(all).first(1), "ioc X");
  ASSERT_TRUE(not_yet);
  EXPECT_FALSE(*not_yet);
}

TEST(CaServerPort, ErrorsInWords) {
  const auto memory = own_memory();
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(read_ca_server_port(*memory, {}, "ioc X").error().message(),
            "read the CA server's port of ioc X: no symbol ca_server_port was found");
  const std::uint64_t unmapped[]{16};
  EXPECT_EQ(read_ca_server_port(*memory, unmapped, "ioc X")
                .error()
                .message()
                .find("read the CA server's port of ioc X: read memory at 0x10"),
            0u);
}

}  // namespace
}  // namespace ioc_exporter::iocs
