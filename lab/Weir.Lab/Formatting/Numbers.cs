namespace Weir.Lab.Formatting;

/// <summary>How numbers are written for people: the same everywhere, whatever the language of the machine.</summary>
internal static class Numbers
{
    private static readonly CultureInfo Culture = CultureInfo.InvariantCulture;

    /// <summary>With commas between thousands.</summary>
    public static string Grouped(double value) => value.ToString("N0", Culture);

    /// <summary>So many things: one, or several.</summary>
    /// <param name="count">How many.</param>
    /// <param name="thing">One of them, of a noun whose plural has an s.</param>
    public static string Counted(int count, string thing) => $"{Grouped(count)} {thing}{(count == 1 ? "" : "s")}";

    /// <summary>With about three digits that matter.</summary>
    public static string Short(double value) => Math.Abs(value) switch
    {
        0 => "0",
        < 0.0005 => value.ToString("0.0e0", Culture),
        < 0.01 => value.ToString("0.0000", Culture),
        < 0.1 => value.ToString("0.000", Culture),
        < 10 => value.ToString("0.00", Culture),
        < 100 => value.ToString("0.0", Culture),
        _ => Grouped(value),
    };

    /// <summary>In thousands, millions or billions, with the unit.</summary>
    public static string Scaled(double value) => Scaled([value]);

    /// <summary>Several values in the unit that suits the first.</summary>
    public static string Scaled(params ReadOnlySpan<double> values)
    {
        (double scale, string unit) = Math.Abs(values[0]) switch
        {
            >= 1e9 => (1e9, " G"),
            >= 1e6 => (1e6, " M"),
            >= 1e3 => (1e3, " k"),
            _ => (1, ""),
        };
        string text = "";
        foreach (double value in values)
        {
            double scaled = value / scale;
            string format = Math.Abs(values[0] / scale) switch { < 10 => "0.00", < 100 => "0.0", _ => "0" };
            text += (text.Length > 0 ? ".." : "") + scaled.ToString(format, Culture);
        }

        return text + unit;
    }

    /// <summary>A rate in words, with about four digits that matter.</summary>
    public static string Rate(double rate) => rate switch
    {
        0 => "0",
        < 0.001 => rate.ToString("0.000e0", Culture),
        < 1 => rate.ToString("0.0000", Culture),
        < 10 => rate.ToString("0.000", Culture),
        < 100 => rate.ToString("0.00", Culture),
        < 1_000 => rate.ToString("0.0", Culture),
        < 10_000 => Grouped(rate),
        _ => Scaled(rate),
    };

    /// <summary>A length of time given in nanoseconds, with about three digits that matter.</summary>
    public static string Nanoseconds(double nanoseconds) => nanoseconds switch
    {
        < 1e3 => FormattableString.Invariant($"{nanoseconds:0} ns"),
        < 1e6 => FormattableString.Invariant($"{nanoseconds / 1e3:G3} us"),
        < 1e9 => FormattableString.Invariant($"{nanoseconds / 1e6:G3} ms"),
        _ => FormattableString.Invariant($"{nanoseconds / 1e9:0.00} s"),
    };

    /// <summary>A length of time in the unit that suits it.</summary>
    public static string Time(TimeSpan time) => time.TotalNanoseconds switch
    {
        < 1e3 => FormattableString.Invariant($"{time.TotalNanoseconds:0.##} ns"),
        < 1e6 => FormattableString.Invariant($"{time.TotalMicroseconds:0.##} us"),
        < 1e9 => FormattableString.Invariant($"{time.TotalMilliseconds:0.##} ms"),
        _ => FormattableString.Invariant($"{time.TotalSeconds:0.##} s"),
    };

    /// <summary>A number of bytes in the unit that suits it.</summary>
    public static string Bytes(double bytes) => bytes switch
    {
        < 1024 => FormattableString.Invariant($"{bytes:0.#} B"),
        < 1024 * 1024 => FormattableString.Invariant($"{bytes / 1024:0.#} KB"),
        < 1024.0 * 1024 * 1024 => FormattableString.Invariant($"{bytes / (1024 * 1024):0.#} MB"),
        _ => FormattableString.Invariant($"{bytes / (1024 * 1024 * 1024):0.#} GB"),
    };
}

/// <summary>What arms are compared by, as it stands in tables and sentences.</summary>
internal static class FigureWords
{
    /// <summary>The word of a figure.</summary>
    public static string Of(ComparedFigure figure) => figure.ToString().ToLowerInvariant();
}

/// <summary>Verdicts as they stand in tables and sentences.</summary>
internal static class VerdictWords
{
    private static readonly Dictionary<string, Verdict> Words = Enum.GetValues<Verdict>().ToDictionary(Of);

    /// <summary>The word of a verdict.</summary>
    public static string Of(Verdict verdict) => verdict.ToString().ToUpperInvariant();

    /// <summary>The verdict for a word; <see langword="null"/> for any other text.</summary>
    public static Verdict? Find(string text) => Words.TryGetValue(text, out Verdict verdict) ? verdict : null;
}
