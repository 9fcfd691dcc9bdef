// The input of a kernel: numbers or a name, separated by commas.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// A mistake of the user, with a message for the user.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Input {
public:
    Input(std::string kernel, std::string text)
        : kernel(std::move(kernel)), text(std::move(text)), rest(this->text), is_at_end(false) {}

    Input(const Input&) = delete;

    // Returns the next part, which must exist.
    std::string name() {
        if (is_at_end) {
            throw UsageError(kernel + ": the input is too short");
        }
        const std::size_t comma = rest.find(',');
        const std::string part(rest.substr(0, comma));
        is_at_end = comma == std::string_view::npos;
        rest.remove_prefix(is_at_end ? rest.size() : comma + 1);
        return part;
    }

    // Returns the next part, which must be a number in this range.
    std::uint32_t number(const char* what, std::uint32_t min, std::uint32_t max) {
        const std::string part = name();
        std::uint32_t number = 0;
        const char* end = part.data() + part.size();
        const auto [parsed, error] = std::from_chars(part.data(), end, number);
        if (error != std::errc() || parsed != end || number < min || number > max) {
            throw UsageError(kernel + ": " + what + " must be a number from " + std::to_string(min)
                             + " to " + std::to_string(max) + ", not '" + part + "'");
        }
        return number;
    }

    // Returns the next part as a number, or the default value if the input ends here.
    std::uint32_t number(const char* what, std::uint32_t min, std::uint32_t max,
                         std::uint32_t default_value) {
        return is_at_end ? default_value : number(what, min, max);
    }

    // Checks that the input ends here.
    void end() const {
        if (!is_at_end) {
            throw UsageError(kernel + ": the input is too long; remove '" + std::string(rest)
                             + "'");
        }
    }

private:
    const std::string kernel;
    const std::string text;
    std::string_view rest;
    bool is_at_end;
};
