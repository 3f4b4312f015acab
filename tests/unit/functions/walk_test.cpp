// Walks: lists and arrays of an IOC's memory, here of this process'.
#include "functions/walk.h"

#include <gmock/gmock.h>

#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "own_memory.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* kPorts = R"(
walks:
  - name: ports
    file: libasyn
    each:
      - {item: port, first: '[base]', next: '[port]', back: '[port+8]', count: '[base+8] -> int'}
    must: ['[port+32] = port', '[port+28] -> int = 7']
    labels: {port: '[port+16] -> string[16]'}
    metrics:
      - {name: epics_connected, help: h, value: '[port+24] -> int', only: 0..1}
      - {name: epics_connects_total, help: h, value: '[port+40] -> ulong'}
      - {name: epics_queued, help: h, value: '[port+48] -> short', labels: {priority: low}}
)";

struct Port {
  Port *next = nullptr, *back = nullptr;
  const char* name = nullptr;
  int connected = 0, seven = 7;
  const Port* self = nullptr;
  std::uint64_t connects = 0;
  short queued = 0;
};
struct Base {
  Port* first = nullptr;
  int count = 0;
};

// A list of ports as the IOC has it, and what the walk finds.
struct PortList {
  Base base;
  std::list<Port> ports;

  Port& add(const char* name, int connected, std::uint64_t connects, short queued) {
    Port* before = ports.empty() ? nullptr : &ports.back();
    Port& one = ports.emplace_back();
    one = {nullptr, before, name, connected, 7, &one, connects, queued};
    (before != nullptr ? before->next : base.first) = &one;
    ++base.count;
    return one;
  }
};

std::string problems_in(const std::string& text) {
  std::vector<Walk> walks;
  return error_of(
      read_yaml(text, "test.yaml", [&](Reader& file) { read_walks(file, walks, "epics_"); }));
}

template <class Root>
Walked walked(const std::string& text, const Root& root, const WalkBounds& bounds = {}) {
  OwnMemory memory;
  const Roots roots = [&root](const std::string& name) -> std::optional<std::uint64_t> {
    return name == "base" ? std::optional(reinterpret_cast<std::uint64_t>(&root)) : std::nullopt;
  };
  return value_of(walk(walks_in(text)[0], roots, memory, bounds));
}

std::vector<std::pair<std::string, double>> values(const Walked& walked) {
  std::vector<std::pair<std::string, double>> all;
  for (const WalkSample& sample : walked.samples) {
    std::string name = std::to_string(sample.metric);
    for (const auto& [label, value] : sample.labels) name += " " + label + "=" + value;
    all.emplace_back(name, sample.value);
  }
  return all;
}

TEST(Walk, EachItemOfAListHasItsValues) {
  PortList list;
  list.add("L0", 1, 3, 17);
  list.add("L1", 0, 5'000'000'000, -1);
  const Walked found = walked(kPorts, list.base);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.items, 2u);
  EXPECT_THAT(values(found),
              ElementsAre(Pair("0 port=L0", 1), Pair("1 port=L0", 3),
                          Pair("2 port=L0 priority=low", 17), Pair("0 port=L1", 0),
                          Pair("1 port=L1", 5e9), Pair("2 port=L1 priority=low", -1)));
}

// As asyn's base before the first port, and after it.
TEST(Walk, AListThatIsEmptyOrNotMadeYetHasNone) {
  const Walked empty = walked(kPorts, Base{});
  EXPECT_EQ(empty.problem, "");
  EXPECT_THAT(empty.samples, IsEmpty());
  std::string text = kPorts;
  text.replace(text.find("'[base]'"), 8, "'[[base]]'");
  text.replace(text.find("'[base+8]"), 9, "'[[base]+8]");
  const Base* base = nullptr;
  const Walked found = walked(text, base);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.unfit, 0u);
  PortList list;
  list.add("L0", 1, 3, 17);
  base = &list.base;
  EXPECT_EQ(walked(text, base).items, 1u);
}

TEST(Walk, OnlyTheItemThatDoesNotFitIsAbsent) {
  const auto absent = [](auto change) {
    PortList list;
    list.add("L0", 1, 3, 0);
    change(list.add("L1", 1, 1, 0));
    list.add("L2", 0, 2, 0);
    const Walked found = walked(kPorts, list.base);
    EXPECT_EQ(found.items, 2u);
    EXPECT_EQ(found.unfit, 1u);
    EXPECT_EQ(found.samples.size(), 6u);
    return found.problem;
  };
  EXPECT_THAT(absent([](Port& port) { port.self = nullptr; }), HasSubstr("does not hold"));
  EXPECT_THAT(absent([](Port& port) { port.seven = 8; }), HasSubstr("does not hold"));
  EXPECT_THAT(absent([](Port& port) { port.connected = 2; }), HasSubstr("makes no sense"));
  EXPECT_THAT(absent([](Port& port) { port.name = "a\x01"; }), HasSubstr("does not print"));
  EXPECT_THAT(absent([](Port& port) { port.name = ""; }), HasSubstr("there is no name"));
  EXPECT_THAT(absent([](Port& port) { port.name = "0123456789abcdef"; }),
              HasSubstr("does not end"));
  EXPECT_THAT(absent([](Port& port) { port.name = nullptr; }), HasSubstr("read 0x0"));
  EXPECT_THAT(absent([](Port& port) { port.name = "L0"; }), HasSubstr("the same labels"));
}

TEST(Walk, AListThatMakesNoSenseIsAbsent) {
  const auto absent = [](auto change, const WalkBounds& bounds = {}) {
    PortList list;
    list.add("L0", 1, 3, 0);
    list.add("L1", 1, 1, 0);
    list.add("L2", 0, 2, 0);
    change(list);
    const Walked found = walked(kPorts, list.base, bounds);
    EXPECT_THAT(found.samples, IsEmpty());
    EXPECT_EQ(found.items, 0u);
    return found.problem;
  };
  EXPECT_THAT(absent([](PortList& list) { list.ports.back().back = &list.ports.front(); }),
              HasSubstr("leads not back"));
  EXPECT_THAT(absent([](PortList& list) { list.base.count = 2; }), HasSubstr("and says 2"));
  EXPECT_THAT(absent([](PortList& list) { list.base.count = -1; }), HasSubstr("make no sense"));
  EXPECT_THAT(absent([](PortList& list) { list.base.count = 5000; }), HasSubstr("make no sense"));
  EXPECT_THAT(absent([](PortList& list) {
                list.ports.back().next = reinterpret_cast<Port*>(0x5a5a5a5a5a5a5a58);
              }),
              HasSubstr("read 0x"));
  EXPECT_THAT(absent([](PortList& list) {
                list.base.first =
                    reinterpret_cast<Port*>(reinterpret_cast<char*>(list.base.first) + 1);
              }),
              HasSubstr("makes no sense"));
  const auto nothing = [](PortList&) {};
  EXPECT_THAT(absent(nothing, {.items = 2}), HasSubstr("make no sense"));
  EXPECT_THAT(absent(nothing, {.reads = 0}), HasSubstr("takes too long"));
  EXPECT_THAT(absent(nothing, {.time = std::chrono::milliseconds(-1)}),
              HasSubstr("takes too long"));
}

// A ring without links back.
TEST(Walk, AListWithoutEndIsAbsent) {
  PortList list;
  Port& one = list.add("L0", 1, 3, 0);
  one.next = &one;
  std::string text = kPorts;
  text.erase(text.find(", back:"), std::strlen(", back: '[port+8]', count: '[base+8] -> int'"));
  const Walked found = walked(text, list.base);
  EXPECT_THAT(found.samples, IsEmpty());
  EXPECT_THAT(found.problem, AnyOf(HasSubstr("more items"), HasSubstr("takes too long")));
}

// The same structs with each field 8 bytes further: none of it is shown.
TEST(Walk, ShiftedStructsAreAbsent) {
  struct ShiftedPort {
    std::uint64_t shift = 0;
    Port port;
  };
  struct ShiftedBase {
    std::uint64_t shift = 0;
    Base base;
  };
  for (const std::uint64_t before : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1}}) {
    ShiftedPort port{before, {nullptr, nullptr, "L0", 1, 7, nullptr, 3, 0}};
    port.port.self = &port.port;
    const ShiftedBase base{before, {&port.port, 1}};
    EXPECT_THAT(walked(kPorts, base).samples, IsEmpty());
    // Where the list is found, the ports are others still.
    const Base found{reinterpret_cast<Port*>(&port), 1};
    EXPECT_THAT(walked(kPorts, found).samples, IsEmpty());
  }
}

constexpr const char* kStates = R"(
walks:
  - name: states
    file: libseq
    each:
      - {item: set, first: '[base]', stride: 32, count: '[base+8] -> uint'}
      - {item: state, first: '[set]', stride: 16, count: '[set+8] -> uint', at: '[set+12] -> int'}
    labels: {set: '[set+16] -> string[16]'}
    metrics:
      - {name: epics_state_info, help: h, labels: {state: '[state+8] -> string[16]'}}
      - {name: epics_entered_seconds, help: h, value: '[set+24] -> double', epics_time: true}
)";

TEST(Walk, ArraysAndOneElementOfThem) {
  struct State {
    std::uint64_t other;
    const char* name;
  };
  const State states[] = {{0, "off"}, {0, "on"}};
  struct Set {
    const State* states;
    std::uint32_t count;
    std::int32_t at;
    const char* name;
    double entered;
  };
  Set sets[] = {{states, 2, 1, "light", 1e9}, {states, 2, -1, "none", 1}, {states, 1, 0, "x", 0}};
  struct {
    const Set* sets;
    std::uint32_t count;
  } const base{sets, 3};
  EXPECT_THAT(values(walked(kStates, base)),
              ElementsAre(Pair("0 set=light state=on", 1), Pair("1 set=light", 1631152000),
                          Pair("0 set=x state=off", 1)));  // it has entered none yet
  sets[1].at = 2;
  EXPECT_THAT(walked(kStates, base).problem, HasSubstr("there is no state 2"));
  sets[1].at = 0;
  sets[1].entered = -1e300;
  EXPECT_EQ(walked(kStates, base).unfit, 1u);
}

// The bound is of items: what they stand in is bounded on its own.
TEST(Walk, OuterItemsAreNoItems) {
  struct Inner {
    const char* name;
  };
  struct Outer {
    const Inner* inner;
    std::uint64_t count;
  };
  std::vector<std::string> names;
  for (int i = 0; i < 1024; ++i) names.push_back("n" + std::to_string(i));
  std::vector<Inner> inner;
  for (const std::string& name : names) inner.push_back({name.c_str()});
  std::vector<Outer> outer;
  for (std::size_t i = 0; i < 512; ++i) outer.push_back({&inner[2 * i], 2});
  struct {
    const Outer* outer;
    std::uint64_t count;
  } base{outer.data(), outer.size()};
  const char* const text = R"(
walks:
  - name: inner
    file: lib
    each:
      - {item: outer, first: '[base]', stride: 16, count: '[base+8] -> uint'}
      - {item: inner, first: '[outer]', stride: 8, count: '[outer+8] -> uint'}
    labels: {inner: '[inner] -> string[16]'}
    metrics: [{name: epics_inner, help: h}]
)";
  EXPECT_EQ(walked(text, base).problem, "");
  EXPECT_EQ(walked(text, base).items, 1024u);
  outer[0].count = 3;
  EXPECT_EQ(walked(text, base).problem, "more items than there can be");
}

TEST(Walk, TheProblemsOfAFileAreTold) {
  EXPECT_EQ(problems_in("walks: [{name: a, file: a, metrics: []}]"),
            "test.yaml:1:9: walks[0]: each is missing");
  EXPECT_THAT(problems_in(R"(walks:
  - {name: a, file: a, each: [{item: a, first: '[b]', next: '[a]', stride: 8}], metrics: []})"),
              HasSubstr("needs either next"));
  EXPECT_THAT(problems_in(R"(walks:
  - {name: a, file: a, each: [{item: a, first: '[b]', next: '[a]'}], must: ['[a]'], metrics: []})"),
              HasSubstr("is no A = B"));
  EXPECT_THAT(problems_in(R"(walks:
  - name: a
    file: a
    each: [{item: a, first: '[b]', next: '[a]'}]
    metrics: [{name: other, help: h, value: '[a] -> string[8]', only: many}])"),
              testing::AllOf(HasSubstr("must begin with epics_"), HasSubstr("must be a number"),
                             HasSubstr("is no range")));
  EXPECT_THAT(problems_in(R"(walks:
  - name: a
    file: a
    each: [{item: a, first: '[b]', next: '[a]'}]
    labels: {ioc: hello, port: x}
    metrics: [{name: epics_site_m, help: h, labels: {port: y}}])"),
              testing::AllOf(HasSubstr("not ioc"), HasSubstr("has the label port twice")));
}

TEST(Walk, ItemsAreNamesOfOneLoopEach) {
  const auto with = [](const std::string& first, const std::string& second,
                       const std::string& from = "b") {
    return problems_in("walks:\n- {name: a, file: a, metrics: [], each: [{item: " + first +
                       ", first: '[" + from + "]', next: '[" + first + "]'}, {item: " + second +
                       ", first: '[" + first + "]', next: '[" + second + "]'}]}");
  };
  EXPECT_EQ(with("i", "j"), "");
  for (const std::string name : {"arg0", "this", "return", "symbol", "0i", "i+8"})
    EXPECT_THAT(with("i", name), HasSubstr("walks[0].each[1].item: ")) << name;
  EXPECT_THAT(with("i", "i"), HasSubstr("walks[0].each[1]: i is the item of two loops"));
  EXPECT_THAT(with("i", "j", "j"), HasSubstr("walks[0].each[0]: [j]: there is no j yet"));
  EXPECT_THAT(with("i", "j", "i"), HasSubstr("walks[0].each[0]: [i]: there is no i yet"));
  EXPECT_THAT(with("i", "j", "arg0"), HasSubstr("there is no call"));
}

TEST(Walk, ItsVariablesAreTheNamesThatNoLoopHas) {
  EXPECT_THAT(walks_in(kPorts)[0].variables(), ElementsAre("base"));
  const auto others = walks_in(R"(walks:
  - name: a
    file: a
    each: [{item: a, first: '[b]', next: '[a]'}]
    must: ['[c] = [d]']
    labels: {l: '[e] -> int'}
    metrics: [{name: epics_site_m, help: h, value: '[f] -> int', labels: {k: '[g] -> int'}}])");
  EXPECT_THAT(others[0].variables(), ElementsAre("b", "c", "d", "e", "f", "g"));
}

}  // namespace
}  // namespace ioc_exporter::functions
