#include "iocs/memory/record_names.h"

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

TEST(PvName, KnowsLongStrings) {
  for (const char* pv : {"REC.DESC$", "REC.$", R"(REC.VAL$[0:3])", "SR{PS:1}I.DESC$"})
    EXPECT_TRUE(parse_pv_name(pv).is_long_string()) << pv;
  for (const char* pv : {"REC.DESC", R"(REC.{"dbnd":{"m":"$"}})", "SR{PS:1}I$"})
    EXPECT_FALSE(parse_pv_name(pv).is_long_string()) << pv;
}

}  // namespace
}  // namespace ioc_exporter::iocs
