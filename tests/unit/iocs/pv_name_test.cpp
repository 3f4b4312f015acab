#include "iocs/memory/pv_name.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace ioc_exporter::iocs {
namespace {

TEST(PvName, IsRecordAndField) {
  using Case = std::tuple<const char*, const char*, const char*>;
  for (const auto& [pv, record, field] : {
           Case{"REC", "REC", "VAL"},
           Case{"REC.VAL", "REC", "VAL"},
           Case{"REC.VAL$", "REC", "VAL"},
           Case{"REC.DESC$", "REC", "DESC"},
           Case{"REC.", "REC", "VAL"},
           Case{"REC.$", "REC", "VAL"},
           Case{"REC.{\"dbnd\":{\"abs\":1.5}}", "REC", "VAL"},
           Case{"REC.VAL{\"arr\":{\"s\":2}}", "REC", "VAL"},
           Case{"REC.DESC${\"ts\":{}}", "REC", "DESC"},
           Case{"REC.VAL[1:3]", "REC", "VAL"},
           Case{"REC.[1]", "REC", "VAL"},
           Case{"REC.A1_b", "REC", "A1_b"},
           // Without a '.' all of it is the record's name.
           Case{"REC{\"dbnd\":{}}", "REC{\"dbnd\":{}}", "VAL"},
           Case{"a:b-c<d>;[e]", "a:b-c<d>;[e]", "VAL"},
           Case{".VAL", "", "VAL"},
           Case{"", "", "VAL"},
       }) {
    const PvName name = parse_pv_name(pv);
    EXPECT_EQ(name.record, record) << pv;
    EXPECT_EQ(name.field, field) << pv;
  }
}

}  // namespace
}  // namespace ioc_exporter::iocs
