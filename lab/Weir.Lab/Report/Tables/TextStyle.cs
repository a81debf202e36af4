namespace Weir.Lab.Report.Tables;

/// <summary>How text for people is written.</summary>
/// <param name="Width">How many characters a line of a table may have; <see langword="null"/> for no limit, as in files and pipes.</param>
/// <param name="IsColored">Whether verdicts are coloured, by the escape sequences of ECMA-48 that terminals understand.</param>
public sealed record TextStyle(int? Width = null, bool IsColored = false)
{
    /// <summary>For files and pipes: no limit, no colours.</summary>
    public static TextStyle Plain { get; } = new();
}
