#include <criterion/criterion.h>

#include <stdlib.h>

#include "folder.h"

/* What another project sees of heddle: tests/whole/package, with what was installed and with heddle as a part of it. */

TestSuite(package, .init = hdt_enter_folder, .fini = hdt_leave_folder);

#define PROJECT "'" HEDDLE_SOURCE_DIR "/tests/whole/package'"

static void run(const char *command)
{
    if (system(command) == 0)
        return;
    cr_expect(system("tail -n 40 log >&2") == 0);
    cr_assert_fail("%s", command);
}

Test(package, installed, .timeout = 120)
{
    run("cmake --install '" HEDDLE_BINARY_DIR "' --prefix \"$PWD/there\" >log 2>&1");
    run("cmake -S " PROJECT " -B made -DCMAKE_PREFIX_PATH=\"$PWD/there\" -DCMAKE_C_FLAGS=-Werror"
        " -DCMAKE_CXX_FLAGS='-Wall -Wextra -Wpedantic -Werror' >log 2>&1");
    run("cmake --build made >log 2>&1");
    run("made/engine >log 2>&1 && grep -q '^1 passes, ' log");
    run("test ! -e made/engine_cxx || made/engine_cxx >log 2>&1");
    run("test ! -e made/engine_cxx20 || made/engine_cxx20 >log 2>&1");
    /* the headers for C++, by both compilers where they are */
    run("for cxx in g++ clang++; do command -v $cxx || continue; for standard in 11 20; do $cxx -std=c++$standard -Wall "
        "-Wextra -Wpedantic -Werror -fsyntax-only -I there/include \"" HEDDLE_SOURCE_DIR
        "/tests/whole/package/engine20.cpp\" $(pkg-config --cflags-only-I vulkan 2>/dev/null) || exit 1; done; done "
        ">log 2>&1");
    run("cd there/include/heddle && for header in *.h*; do ls '" HEDDLE_SOURCE_DIR "'/*/include/heddle/$header || exit 1;"
        " done >../../../log 2>&1 && test $(ls | wc -l) = $(ls '" HEDDLE_SOURCE_DIR
        "'/core/include/heddle '" HEDDLE_SOURCE_DIR "'/jobs/include/heddle '" HEDDLE_SOURCE_DIR
        "'/graph/include/heddle '" HEDDLE_SOURCE_DIR "'/vk/include/heddle | grep -c '[.]h')");
    /* without CMake, and moved */
    run("mv there elsewhere && PKG_CONFIG_PATH=$(dirname $(find $PWD/elsewhere -name heddle.pc)) sh -c '${CC:-cc} "
        "-std=c11 -Werror \"" HEDDLE_SOURCE_DIR "/tests/whole/package/engine.c\" -o plain $(pkg-config --cflags --libs "
        "heddle)' >log 2>&1 && ./plain >log 2>&1 && grep -q '^1 passes, ' log && mv elsewhere there");
    /* of another version, or without what it needs: said so, and no error of CMake's own */
    run("mkdir other && sed 's/heddle 0.1 REQUIRED/heddle 9.0 REQUIRED/' " PROJECT
        "/CMakeLists.txt >other/CMakeLists.txt");
    run("! cmake -S other -B wrong -DCMAKE_PREFIX_PATH=\"$PWD/there\" >log 2>&1 && grep -q 'version: 0.1.0' log");
    run("! PKG_CONFIG_LIBDIR=/nowhere cmake -S " PROJECT " -B without -DCMAKE_PREFIX_PATH=\"$PWD/there\" >log 2>&1 &&"
        " grep -q 'heddle needs ConcurrencyKit and jansson' log");
}

/* The compiler as a shared library, where no Vulkan header is: what it shows are the calls of its headers. */
Test(package, shared_without_vulkan, .timeout = 240)
{
    run("cmake -S '" HEDDLE_SOURCE_DIR "' -B made -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O0 -DBUILD_SHARED_LIBS=ON"
        " -DHEDDLE_VK=OFF -DHEDDLE_TESTS=OFF -DHEDDLE_SAMPLES=OFF -DHEDDLE_BENCH=OFF -DVOLK_INCLUDE=/nowhere"
        " -DHEDDLE_D3= >log 2>&1");
    run("cmake --build made -j2 --target heddle >log 2>&1");
    run("nm -D --defined-only made/libheddle.so | cut -d' ' -f3 >log && grep -q '^hd_graph_compile$' log");
    run("! nm -D --defined-only made/libheddle.so | cut -d' ' -f3 | grep -v '^hd_' >log");
    run("${CC:-cc} -std=c11 -Werror -I'" HEDDLE_SOURCE_DIR "/core/include' -I'" HEDDLE_SOURCE_DIR "/jobs/include' -I'"
        HEDDLE_SOURCE_DIR "/graph/include' '" HEDDLE_SOURCE_DIR "/tests/whole/package/compiler.c' -o plain -Lmade -lheddle"
        " -Wl,-rpath,$PWD/made >log 2>&1 && ./plain >log 2>&1 && grep -q '^1 passes, ' log");
}

/* The library alone: neither programs nor what only they need, and no warning is an error. */
Test(package, part_of_a_project, .timeout = 120)
{
    run("cmake -S " PROJECT " -B made -DHEDDLE_SOURCE='" HEDDLE_SOURCE_DIR "' -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
        " -DCMAKE_POSITION_INDEPENDENT_CODE=ON >log 2>&1");
    run("grep -q 'vk/window/swapchain.c' made/compile_commands.json");
    run("! grep -q -e Werror -e samples/ -e bench/ -e test_ made/compile_commands.json");
    run("! grep -e '-c .*/vk/' made/compile_commands.json | grep -v -q -e -fPIC");
}
