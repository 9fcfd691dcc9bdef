// Unbalanced tree search: counting the nodes of a tree that hash values generate.
//
// The number of a node's children is known only when a worker visits the node. A subtree may be a
// single leaf or half of the tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "input.hpp"
#include "sha1.hpp"

namespace uts {

// The splittable random stream of a node: the hash of its parent's hash and its own number.
class Stream {
public:
    static Stream root(std::uint32_t seed) {
        return Stream(sha1::hash(std::array<std::uint32_t, 5>{0, 0, 0, 0, seed}));
    }

    [[gnu::noinline]] Stream child(std::uint32_t number) const {
        const auto [a, b, c, d, e] = hash;
        return Stream(sha1::hash(std::array<std::uint32_t, 6>{a, b, c, d, e, number}));
    }

    // Returns the stream's random value as a number in [0, 1).
    double probability() const { return (hash[4] & 0x7fff'ffff) / 0x1p31; }

private:
    explicit Stream(const sha1::Hash& hash) : hash(hash) {}

    sha1::Hash hash;
};

// Returns a geometrically distributed number of children with this mean.
inline std::uint32_t geometric(const Stream& node, double mean) {
    const double stop = 1.0 / (1.0 + mean);
    const double children = std::log(1.0 - node.probability()) / std::log(1.0 - stop);
    return static_cast<std::uint32_t>(std::min(children, 100.0));
}

// An unbalanced tree.
struct Tree {
    const char* name;
    // The seed of the root's stream.
    std::uint32_t seed;
    // The expected number of children of the root.
    double root_branching;
    // Returns the number of children of a node at this depth.
    std::uint32_t (*children)(const Tree& tree, const Stream& node, std::uint32_t depth);
    // The size of the tree, as published with UTS.
    std::uint64_t nodes, leaves;
    std::uint32_t depth;
};

// A geometric distribution with the same mean down to depth 10.
inline std::uint32_t fixed(const Tree& tree, const Stream& node, std::uint32_t depth) {
    return depth < 10 ? geometric(node, tree.root_branching) : 0;
}

// A geometric distribution whose mean rises and falls with the depth, in periods of 16 levels.
// Nodes deeper than five periods are leaves.
inline std::uint32_t cyclic(const Tree& tree, const Stream& node, std::uint32_t depth) {
    if (depth == 0) {
        return geometric(node, tree.root_branching);
    }
    constexpr double tau = 6.283185307179586;
    const double phase = tau * depth / 16.0;
    return depth <= 80 ? geometric(node, std::pow(tree.root_branching, std::sin(phase))) : 0;
}

// A fixed number of children or none.
template <std::uint32_t CHILDREN>
std::uint32_t binomial(const Tree& tree, const Stream& node, std::uint32_t depth) {
    if (depth == 0) {
        return static_cast<std::uint32_t>(tree.root_branching);
    }
    constexpr double probability = CHILDREN == 8 ? 0.124875 : 0.200014;
    return node.probability() < probability ? CHILDREN : 0;
}

inline const Tree TREES[] = {
    {"T1", 19, 4.0, fixed, 4'130'071, 3'305'118, 10},
    {"T2", 502, 6.0, cyclic, 4'117'769, 2'342'762, 81},
    {"T3", 42, 2000.0, binomial<8>, 4'112'897, 3'599'034, 1572},
    {"T3L", 7, 2000.0, binomial<5>, 111'345'631, 89'076'904, 17'844},
};

struct Node {
    const Tree& tree;
    Stream stream;
    std::uint32_t depth;

    Node child(std::uint32_t number) const { return {tree, stream.child(number), depth + 1}; }
    std::uint32_t children() const { return tree.children(tree, stream, depth); }
};

// The size of a tree in two registers, because a larger result is returned through memory.
struct Tally {
    // Nodes in the upper half and leaves in the lower half, so that one addition sums both.
    std::uint64_t counts;
    std::uint64_t depth;
};

constexpr std::uint64_t NODE = std::uint64_t{1} << 32;
constexpr std::uint64_t LEAF = 1;

template <class Runtime>
Tally divide(const Node& parent, std::uint32_t first, std::uint32_t children);

// Counts the nodes of the subtree of `node`.
template <class Runtime> Tally tally(const Node& node) {
    const std::uint32_t children = node.children();
    if (children == 0) {
        return {NODE + LEAF, node.depth};
    }
    const Tally below = divide<Runtime>(node, 0, children);
    return {below.counts + NODE, below.depth};
}

// It is not inlined, because frames have to be small in deep trees: only this frame has a node.
template <class Runtime>
[[gnu::noinline]] Tally child(const Node& parent, std::uint32_t number) {
    return tally<Runtime>(parent.child(number));
}

// Counts the subtrees of `children` children of `parent`, from child `first` on.
template <class Runtime>
Tally divide(const Node& parent, std::uint32_t first, std::uint32_t children) {
    if (children == 1) {
        return child<Runtime>(parent, first);
    }
    const std::uint32_t half = children / 2;
    Tally a, b;
    Runtime::join([&] { a = divide<Runtime>(parent, first, half); },
                  [&] { b = divide<Runtime>(parent, first + half, children - half); });
    return {a.counts + b.counts, std::max(a.depth, b.depth)};
}

} // namespace uts

class Uts {
public:
    explicit Uts(Input& input) : tree(find(input.name())) { input.end(); }

    void prepare() {}

    template <class Runtime> void run(Runtime& runtime) {
        runtime.run([this] {
            result = uts::tally<Runtime>({tree, uts::Stream::root(tree.seed), 0});
        });
    }

    std::string answer() const {
        return std::to_string(nodes()) + " nodes, " + std::to_string(leaves()) + " leaves, depth "
            + std::to_string(result.depth);
    }

    bool is_right() const {
        return nodes() == tree.nodes && leaves() == tree.leaves && result.depth == tree.depth;
    }

private:
    const uts::Tree& tree;
    uts::Tally result{};

    static const uts::Tree& find(const std::string& name) {
        for (const uts::Tree& tree : uts::TREES) {
            if (tree.name == name) {
                return tree;
            }
        }
        throw UsageError("uts: the tree must be T1, T2, T3 or T3L, not '" + name + "'");
    }

    std::uint64_t nodes() const { return result.counts >> 32; }
    std::uint64_t leaves() const { return static_cast<std::uint32_t>(result.counts); }
};
