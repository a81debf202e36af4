using static System.FormattableString;

namespace Weir.Lab.Suites.Figures;

/// <summary>Numbers as the page shows them: three digits that matter, and a unit per value.</summary>
internal static class Format
{
    public static string Time(double nanoseconds) => nanoseconds switch
    {
        < 1e3 => Invariant($"{Digits(nanoseconds)} ns"),
        < 1e6 => Invariant($"{Digits(nanoseconds / 1e3)} us"),
        < 1e9 => Invariant($"{Digits(nanoseconds / 1e6)} ms"),
        _ => Invariant($"{Digits(nanoseconds / 1e9)} s"),
    };

    public static string Ratio(double ratio) => ratio < 0.1 ? Invariant($"{ratio:0.0000}") : Digits(ratio);

    public static string Digits(double value) => value switch
    {
        < 9.995 => Invariant($"{value:0.00}"),
        < 99.95 => Invariant($"{value:0.0}"),
        _ => Invariant($"{value:N0}"),
    };
}
