"""Definiteness of a kernel: PD, CPD(q), INDEFINITE or UNKNOWN, and whether strict. Derived, never guessed.

A symmetric k is conditionally positive definite of order q, CPD(q), when ΣΣ cᵢcⱼ k(xᵢ, xⱼ) ≥ 0 for all c that
annihilate the polynomials of degree < q: Σ cᵢ p(xᵢ) = 0. PD is CPD(0), and CPD(p) implies CPD(q) for q ≥ p.
*Strict* means > 0 for distinct points and c ≠ 0; it is set only if proven.
Reference: Wendland, *Scattered Data Approximation* (2005), definitions 6.1 and 8.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Definiteness:
    """What is known about the sign of a kernel's quadratic form; ``==`` ignores `strict`."""

    kind: str
    order: int = 0
    strict: bool = field(default=False, compare=False)

    @property
    def is_pd(self) -> bool:
        """Proven positive definite."""
        return self.kind == "CPD" and self.order == 0

    @property
    def is_cpd(self) -> bool:
        """Proven conditionally positive definite of some order (PD included)."""
        return self.kind == "CPD"

    @property
    def may_be_pd(self) -> bool:
        """Positive definite, or unknown."""
        return self.is_pd or self.kind == "UNKNOWN"

    def not_strict(self) -> Definiteness:
        """A copy without strictness."""
        return replace(self, strict=False)

    def __str__(self) -> str:
        if not self.is_cpd:
            return self.kind
        return ("strictly " if self.strict else "") + ("PD" if self.order == 0 else f"CPD({self.order})")

    __repr__ = __str__


def CPD(order: int, strict: bool = False) -> Definiteness:
    """Conditionally positive definite of the given order."""
    return Definiteness("CPD", order, strict)


PD = CPD(0)
STRICTLY_PD = CPD(0, strict=True)
INDEFINITE = Definiteness("INDEFINITE")
UNKNOWN = Definiteness("UNKNOWN")


def of_sum(parts: list[Definiteness]) -> Definiteness:
    """k₁ + k₂: the larger order; UNKNOWN if either part is not proven CPD."""
    if not all(p.is_cpd for p in parts):
        return UNKNOWN
    return CPD(max(p.order for p in parts), any(p.strict for p in parts))


def of_product(parts: list[Definiteness]) -> Definiteness:
    """k₁ · k₂: Schur's product theorem, for positive definite factors only."""
    if not all(p.is_pd for p in parts):
        return UNKNOWN
    return CPD(0, all(p.strict for p in parts))


def of_scaled(part: Definiteness, scale: float) -> Definiteness:
    """c · k. A negative multiple of a strictly (conditionally) definite kernel is not definite of any order."""
    if scale > 0:
        return part
    if scale == 0:
        return PD
    return INDEFINITE if part.strict else UNKNOWN


def of_exponential(part: Definiteness) -> Definiteness:
    """exp(k): PD for k PD (power series) and for k CPD(1) (Schoenberg)."""
    return CPD(0, part.strict) if part.is_cpd and part.order <= 1 else UNKNOWN
