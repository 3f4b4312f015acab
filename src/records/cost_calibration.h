// How many times as much the hits of one IOC's probes cost it as was measured at start, where a
// loop finds all that a hit touches in the caches. By the CPU time that the IOC itself takes while
// probes are there and while they are not: which is by lot (windows of timing_governor.h, slices of
// overhead_governor.h), so that what else it does is the same in both on average. Pure.
#pragma once

namespace ioc_exporter::records {

class CostCalibration {
 public:
  // What noise makes of it stays between these.
  static constexpr double kLeast = 1, kMost = 4;
  static constexpr double kKept = 0.95;       // of what is known, at each new time with probes
  static constexpr double kTrustSeconds = 2;  // with probes, until half is believed

  // At one moment, since any: time, the IOC's CPU time, and what all hits cost as measured at
  // start.
  struct Moment {
    double seconds = 0;
    double cpu_seconds = 0;
    double assumed_seconds = 0;
  };

  // From now on the probes are there, or not.
  void begin(bool with_probes, const Moment& now);
  // A time that has begun is over; nothing when none has. The first of a kind counts as any.
  void end(const Moment& now);
  // What has begun does not count.
  void cancel() { running_ = false; }
  // What is known stays, but does not go together with what comes: other probes are meant.
  void forget_times();

  // `at_first`: what is taken for it while nothing is known.
  double factor(double at_first = 1) const;

 private:
  struct Sum {
    double seconds = 0, cpu_seconds = 0, assumed_seconds = 0;
  };
  struct Belief {
    double factor = 1, trust = 0;
    Belief after(const Belief& before) const;
  };
  void update();

  Sum sums_[2];  // without and with probes
  Moment began_;
  bool running_ = false, with_probes_ = false;
  Belief before_, now_;  // by times that were forgotten, by the others
};

}  // namespace ioc_exporter::records
