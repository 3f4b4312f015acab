// Names of containers.
#include <gtest/gtest.h>

#include <algorithm>

#include "iocs/find/finder.h"
#include "iocs/find/ioc_name.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

const std::string kId(64, 'a'), kOther(64, 'b'), kInner = std::string(60, 'c') + "0123";

TEST(ContainerId, IsOfTheInnermostContainerOfAnyRuntime) {
  const std::string pod = "/kubepods.slice/kubepods-pod8f1c2d3e_4b5a_6978_8899_aabbccddeeff.slice/";
  for (const std::string& path :
       {"/docker/" + kId, "/system.slice/docker-" + kId + ".scope",
        pod + "cri-containerd-" + kId + ".scope", pod + "crio-" + kId + ".scope",
        "/kubepods/besteffort/pod8f1c2d3e-4b5a-6978-8899-aabbccddeeff/" + kId,
        "/machine.slice/libpod-" + kId + ".scope/container", "/../cri-containerd-" + kId + ".scope",
        "/docker/" + kInner + "/kubelet/kubepods/" + kId + "/system.slice/ioc.service"})
    EXPECT_EQ(container_id("0::" + path + "\n"), kId) << path;
  EXPECT_EQ(container_id("12:pids:/docker/" + kId + "\n1:name=systemd:/docker/" + kId + "\n0::/\n"),
            kId);
  for (const std::string& path : {std::string("/user.slice/user-1000.slice/session-2.scope"),
                                  "/x-" + kId + "a", "/x-" + kId.substr(1), std::string()})
    EXPECT_EQ(container_id("0::" + path), "") << path;
}

class NameOfAContainer : public testing::Test {
 protected:
  ContainerName name(bool starts = false) {
    return value_of(container_name(RootedFs(folder_.path()), kId, starts));
  }
  void kubelet_writes(const std::string& file) { folder_.write("/var/log/containers/" + file, ""); }

  TemporaryFolder folder_;
};

TEST_F(NameOfAContainer, FromTheKubelet) {
  kubelet_writes("vacuum-0_controls_ioc-" + kOther + ".log");
  kubelet_writes("no-container-" + kId + ".log");
  kubelet_writes("vacuum-1_controls_ioc-2-" + kId + ".log");
  kubelet_writes("vacuum-2_controls_ioc-" + kId + ".txt");
  EXPECT_EQ(name(), (ContainerName{"vacuum-1", "ioc-2"}));
}

TEST_F(NameOfAContainer, FromDocker) {
  const std::string file = "/var/lib/docker/containers/" + kId + "/config.v2.json";
  folder_.write(file, R"({"Name":"/vacuum","Config":{"Name":"other"}})");
  EXPECT_EQ(name(), (ContainerName{"", "vacuum"}));
  for (const char* bad : {"", "{", "[]", "7", R"({"Name":7})", R"({"Other":"/x"})"}) {
    folder_.write(file, bad);
    EXPECT_EQ(name(), ContainerName()) << bad;
  }
  folder_.write(file, std::string(1'000'000, '['));
  EXPECT_EQ(name(), ContainerName()) << "however deep it is";
}

TEST_F(NameOfAContainer, FromPodman) {
  const std::string file = "/var/lib/containers/storage/overlay-containers/containers.json";
  folder_.write(file,
                R"([{"id":"x","names":["no"]},7,{"id":")" + kId + R"(","names":["vacuum"]}])");
  EXPECT_EQ(name(), (ContainerName{"", "vacuum"}));
  for (const std::string names : {"[]", "7", "[7]", "{}"}) {
    folder_.write(file, R"([{"id":")" + kId + R"(","names":)" + names + "}]");
    EXPECT_EQ(name(), ContainerName()) << names;
  }
}

// The kubelet's file comes when the container runs already, and a wrong name would stay.
TEST_F(NameOfAContainer, IsWaitedForWhileItStarts) {
  EXPECT_EQ(name(true), ContainerName()) << "there is no kubelet";
  kubelet_writes("other_controls_ioc-" + kOther + ".log");
  EXPECT_EQ(name(false), ContainerName());
  const auto later = container_name(RootedFs(folder_.path()), kId, true);
  ASSERT_FALSE(later);
  EXPECT_TRUE(is_for_now(later.error()));
  kubelet_writes("vacuum-0_controls_ioc-" + kId + ".log");
  EXPECT_EQ(name(true), (ContainerName{"vacuum-0", "ioc"}));
}

class NameOfAnIocInAContainer : public NameOfAContainer {
 protected:
  NameOfAnIocInAContainer() {
    folder_.write("/proc/7/cmdline", "softIoc");
    folder_.write("/proc/7/environ", "");
    folder_.write("/proc/7/cgroup", "0::/docker/" + kId + "\n");
  }
  Result<std::string> ioc(const std::vector<std::string>& words, bool starts = false) {
    const RootedFs fs(folder_.path());
    ProcessReader reader(fs);
    std::vector<NameSource> sources;
    for (const std::string& word : words) sources.push_back(*parse_name_source(word));
    return ioc_name(fs, reader, 7, 7, "/usr/bin/softIoc", sources, starts);
  }
};

TEST_F(NameOfAnIocInAContainer, FirstThatSaysSomething) {
  EXPECT_EQ(*ioc({"container", "pod", "exe"}), "softIoc") << "nobody knows that container";
  kubelet_writes("vacuum-0_controls_ioc-" + kId + ".log");
  EXPECT_EQ(*ioc({"container", "pod"}), "ioc");
  EXPECT_EQ(*ioc({"env:IOC", "pod", "container"}), "vacuum-0");
}

TEST_F(NameOfAnIocInAContainer, IsNoneWhileItStarts) {
  kubelet_writes("other_controls_ioc-" + kOther + ".log");
  EXPECT_FALSE(ioc({"container", "exe"}, true));
  EXPECT_EQ(*ioc({"exe", "container"}, true), "softIoc") << "what is not asked needs no waiting";
}

}  // namespace
}  // namespace ioc_exporter::iocs
