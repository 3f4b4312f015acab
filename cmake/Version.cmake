# The version of this build, and of its packages. The commit with the tag vX.Y.Z is X.Y.Z. Any other is the next version:
# X.Y.Z-dev+REVISION, and X.Y.Z-dev where there is no git to ask. CONTRIBUTING.md says how a release is cut.
#
# Sets IOC_EXPORTER_VERSION, IOC_EXPORTER_PACKAGE_VERSION, IOC_EXPORTER_REVISION, IOC_EXPORTER_DATE and
# IOC_EXPORTER_SECONDS, the date in seconds; the last three are empty without git.
set(IOC_EXPORTER_VERSION ${PROJECT_VERSION}-dev)
set(IOC_EXPORTER_PACKAGE_VERSION ${PROJECT_VERSION}~dev)  # before X.Y.Z, for dpkg and rpm
set(tag "$Format:%D$")  # "git archive" writes the commit's tags here

function(ioc_exporter_git variable)
  set(${variable} "" PARENT_SCOPE)
  if(GIT_FOUND)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} ${ARGN}
      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(${variable} "${answer}" PARENT_SCOPE)
  endif()
endfunction()

ioc_exporter_git(top rev-parse --show-cdup)
ioc_exporter_git(IOC_EXPORTER_REVISION describe --always --dirty --abbrev=12 --exclude=*)
if(IOC_EXPORTER_REVISION AND top STREQUAL "")  # not of another project that these sources lie in
  ioc_exporter_git(IOC_EXPORTER_DATE log -1 --date=format-local:%Y-%m-%d --format=%cd)
  ioc_exporter_git(IOC_EXPORTER_SECONDS log -1 --format=%ct)
  ioc_exporter_git(moment log -1 --date=format-local:%Y%m%d%H%M --format=%cd)
  string(REPLACE "-dirty" ".dirty" build ${IOC_EXPORTER_REVISION})
  string(APPEND IOC_EXPORTER_VERSION +${build})
  string(APPEND IOC_EXPORTER_PACKAGE_VERSION .${moment}+${build})  # a later build takes the place of an earlier one
  if(NOT build MATCHES dirty)
    ioc_exporter_git(tag tag --points-at HEAD --list "v[0-9]*" --format "tag: %(refname:short)")
  endif()
  foreach(file logs/HEAD refs/tags)  # asked again after each commit and tag
    ioc_exporter_git(path rev-parse --path-format=absolute --git-path ${file})
    if(EXISTS "${path}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    endif()
  endforeach()
else()
  set(IOC_EXPORTER_REVISION "")
endif()
if(tag MATCHES "tag: v([0-9]+\\.[0-9]+\\.[0-9]+)(,|\n|$)")
  set(IOC_EXPORTER_VERSION ${CMAKE_MATCH_1})
  set(IOC_EXPORTER_PACKAGE_VERSION ${CMAKE_MATCH_1})
endif()
message(STATUS "Version ${IOC_EXPORTER_VERSION}")
