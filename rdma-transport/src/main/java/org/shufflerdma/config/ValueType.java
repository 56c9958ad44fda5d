/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The type of a setting: what the user may write, and the function that converts it to a value and
 * throws {@link IllegalArgumentException} for anything else.
 *
 * @param name type and unit, for messages and the documentation
 * @param range the accepted values, for messages and the documentation
 */
record ValueType<T extends @Nullable Object>(
    String name, String range, Function<String, T> reader) {
  private static final Pattern NUMBER_WITH_UNIT = Pattern.compile("(\\d{1,15})\\s*([a-z]*)");

  static ValueType<Boolean> bool() {
    return new ValueType<>(
        "boolean", "true or false", text -> switch (text.toLowerCase(Locale.ROOT)) {
          case "true" -> true;
          case "false" -> false;
          default -> throw new IllegalArgumentException("neither true nor false");
        });
  }

  static ValueType<Integer> integer(int min, int max) {
    return new ValueType<>(
        "integer",
        min + " to " + max,
        text -> Math.toIntExact(within(Long.parseLong(text), min, max)));
  }

  static ValueType<Integer> integerOf(Integer... choices) {
    List<Integer> allowed = List.of(choices);
    return new ValueType<>(
        "integer",
        allowed.stream().map(String::valueOf).collect(Collectors.joining(", ")),
        text -> {
          int value = Integer.parseInt(text);
          if (!allowed.contains(value)) {
            throw new IllegalArgumentException("not one of the choices");
          }
          return value;
        });
  }

  /** Accepts {@code auto} too, which becomes null. */
  static <T> ValueType<@Nullable T> autoOr(ValueType<T> type) {
    return new ValueType<>(
        type.name(),
        "auto, or " + type.range(),
        text -> text.equalsIgnoreCase("auto") ? null : type.reader().apply(text));
  }

  /** Accepts {@code 500ms}, {@code 5s}, {@code 2min}; a bare number is milliseconds. */
  static ValueType<Integer> durationMs(int min, int max) {
    return new ValueType<>(
        "duration (ms, s, min; default unit ms)",
        min + "ms to " + max + "ms",
        text -> Math.toIntExact(within(scaled(text, ValueType::millisPerUnit), min, max)));
  }

  /** Accepts {@code 4k}, {@code 64m}, {@code 16g}; a bare number is bytes. */
  static ValueType<Long> bytes(String min, String max) {
    long minBytes = scaled(min, ValueType::bytesPerUnit);
    long maxBytes = scaled(max, ValueType::bytesPerUnit);
    return new ValueType<>(
        "size (b, k, m, g, t; default unit b)",
        min + " to " + max,
        text -> within(scaled(text, ValueType::bytesPerUnit), minBytes, maxBytes));
  }

  static <E extends Enum<E>> ValueType<E> oneOf(Class<E> type) {
    StringBuilder names = new StringBuilder();
    for (E constant : type.getEnumConstants()) {
      names.append(names.length() == 0 ? "" : ", ").append(lowerCase(constant));
    }
    return new ValueType<>("choice", names.toString(), text -> {
      for (E constant : type.getEnumConstants()) {
        if (lowerCase(constant).equals(text.toLowerCase(Locale.ROOT))) {
          return constant;
        }
      }
      throw new IllegalArgumentException("not one of the choices");
    });
  }

  static ValueType<String> text(String name, String range, Pattern accepted) {
    return new ValueType<>(name, range, text -> {
      if (!accepted.matcher(text).matches()) {
        throw new IllegalArgumentException("not of the expected form");
      }
      return text;
    });
  }

  private static String lowerCase(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private static long within(long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException("out of range");
    }
    return value;
  }

  private static long scaled(String text, Function<String, Long> factorOfUnit) {
    Matcher matcher = NUMBER_WITH_UNIT.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException("not a number with a unit");
    }
    return Math.multiplyExact(
        Long.parseLong(matcher.group(1)), factorOfUnit.apply(matcher.group(2)));
  }

  private static long millisPerUnit(String unit) {
    return switch (unit) {
      case "", "ms" -> 1;
      case "s" -> 1000;
      case "m", "min" -> 60_000;
      default -> throw new IllegalArgumentException("unknown unit of time");
    };
  }

  private static long bytesPerUnit(String unit) {
    return switch (unit) {
      case "", "b" -> 1;
      case "k", "kb" -> 1L << 10;
      case "m", "mb" -> 1L << 20;
      case "g", "gb" -> 1L << 30;
      case "t", "tb" -> 1L << 40;
      default -> throw new IllegalArgumentException("unknown unit of size");
    };
  }
}
