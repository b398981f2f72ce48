/* Conversions of float16 that LLVM calls by name, where the compiler's own library has none. RISC-V passes the bits of a
half in a register of floats. */
#ifdef __riscv

static uint16_t half_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint64_t sign = bits >> 48 & 0x8000, fraction = bits & (((uint64_t)1 << 52) - 1);
  int64_t exponent = (int64_t)(bits >> 52 & 0x7ff) - 1023 + 15;
  if (exponent == 0x7ff - 1023 + 15) return (uint16_t)(sign | 0x7c00 | (fraction != 0 ? 0x200 | fraction >> 42 : 0));
  if (exponent >= 31) return (uint16_t)(sign | 0x7c00);
  if (exponent < -10) return (uint16_t)sign;
  int shift = exponent > 0 ? 42 : (int)(43 - exponent);
  if (exponent <= 0) fraction |= (uint64_t)1 << 52;
  uint64_t half = (exponent > 0 ? (uint64_t)exponent << 10 : 0) + (fraction >> shift);
  uint64_t rest = fraction & (((uint64_t)1 << shift) - 1), middle = (uint64_t)1 << (shift - 1);
  half += rest > middle || (rest == middle && (half & 1)); /* to nearest, ties to even; a carry goes to the exponent */
  return (uint16_t)(sign | half);
}

static float boxed(uint16_t half) {
  uint32_t bits = 0xffff0000 | half;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

__attribute__((weak)) float __truncsfhf2(float value) { return boxed(half_of(value)); }
__attribute__((weak)) float __truncdfhf2(double value) { return boxed(half_of(value)); }

__attribute__((weak)) float __extendhfsf2(float passed) {
  uint32_t bits;
  memcpy(&bits, &passed, sizeof bits);
  uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0) {
    float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 127 - 15) << 23) | fraction << 13;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif
