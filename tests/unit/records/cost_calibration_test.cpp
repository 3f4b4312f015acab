#include "records/cost_calibration.h"

#include <gtest/gtest.h>

#include <random>

namespace ioc_exporter::records {
namespace {

// An IOC whose own load varies by lot, and whose probes cost `factor` times what is assumed.
class Ioc {
 public:
  void cycle(double factor, double spread) {
    time(true, 0.5, factor, spread);
    time(false, 4.5, factor, spread);
  }
  CostCalibration calibration;

 private:
  void time(bool with_probes, double seconds, double factor, double spread) {
    calibration.begin(with_probes, now_);
    const double own = std::normal_distribution<>(0.1, spread)(random_);
    const double assumed = with_probes ? 0.03 * seconds : 0;
    now_.seconds += seconds;
    now_.cpu_seconds += own * seconds + assumed * factor;
    now_.assumed_seconds += assumed;
    calibration.end(now_);
  }
  CostCalibration::Moment now_;
  std::mt19937_64 random_{23};
};

TEST(CostCalibration, IsWhatWasMeasuredAtFirst) {
  EXPECT_EQ(CostCalibration().factor(), 1);
  EXPECT_EQ(CostCalibration().factor(2), 2);
}

TEST(CostCalibration, WhatWasTakenAtFirstIsForgotten) {
  Ioc ioc;
  for (int i = 0; i < 60; ++i) ioc.cycle(1.5, 0.001);
  EXPECT_NEAR(ioc.calibration.factor(1), ioc.calibration.factor(2), 0.2);
}

TEST(CostCalibration, FindsWhatHitsCost) {
  for (const double factor : {1.0, 1.6, 2.5}) {
    Ioc ioc;
    for (int i = 0; i < 60; ++i) ioc.cycle(factor, 0.01);
    EXPECT_NEAR(ioc.calibration.factor(), factor, 0.3) << factor;
  }
}

TEST(CostCalibration, FollowsAChange) {
  Ioc ioc;
  for (int i = 0; i < 60; ++i) ioc.cycle(2.5, 0.001);
  for (int i = 0; i < 100; ++i) ioc.cycle(1.2, 0.001);
  EXPECT_NEAR(ioc.calibration.factor(), 1.3, 0.15);
}

// An IOC that works when it likes: whatever is seen, it stays within bounds.
TEST(CostCalibration, StaysWithinItsBounds) {
  Ioc ioc;
  for (int i = 0; i < 200; ++i) {
    ioc.cycle(1, 5);
    EXPECT_GE(ioc.calibration.factor(), CostCalibration::kLeast);
    EXPECT_LE(ioc.calibration.factor(), CostCalibration::kMost);
  }
}

TEST(CostCalibration, OneTimeAloneSaysNothing) {
  CostCalibration calibration;
  calibration.end({1, 1, 1});
  calibration.begin(true, {1, 1, 1});
  calibration.end({2, 2, 1.1});
  EXPECT_EQ(calibration.factor(), 1);
  calibration.begin(false, {2, 2, 1.1});
  calibration.cancel();
  calibration.end({3, 2, 1.1});
  EXPECT_EQ(calibration.factor(), 1);
}

TEST(CostCalibration, KeepsWhatItKnowsOverOtherProbes) {
  Ioc ioc;
  for (int i = 0; i < 60; ++i) ioc.cycle(2.5, 0.001);
  const double before = ioc.calibration.factor();
  ioc.calibration.forget_times();
  EXPECT_DOUBLE_EQ(ioc.calibration.factor(), before);
  ioc.cycle(2.5, 0.001);
  EXPECT_NEAR(ioc.calibration.factor(), before, 0.1);
}

}  // namespace
}  // namespace ioc_exporter::records
