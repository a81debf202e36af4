using System.Globalization;
using System.Text;
using Weir.Observability;

namespace Weir.Terminal;

/// <summary>What is shown of one run at one moment, and the words for it.</summary>
internal sealed record BarState
{
    private const int LongestName = 60;
    private const double Thousand = 1000;

    public required string Name { get; init; }

    /// <summary>Items that have ended, in any way.</summary>
    public required long Ended { get; init; }

    public required long Failed { get; init; }

    public required long? Total { get; init; }

    public (long Read, long? Total)? Bytes { get; init; }

    public required double? Percent { get; init; }

    /// <summary>Items per second.</summary>
    public required double Rate { get; init; }

    public required TimeSpan Elapsed { get; init; }

    public required TimeSpan? Left { get; init; }

    public bool IsPaused { get; init; }

    /// <summary>How far it is, in items or in bytes.</summary>
    public string Count => Bytes is { Total: { } bytes, Read: var read } && Total is null
        ? $"{BytesText(read)}/{BytesText(bytes)}"
        : Total is { } total ? $"{Grouped(Ended)}/{Grouped(total)}" : Grouped(Ended);

    /// <summary>How fast it is. Beside a count of bytes, it says that it counts items.</summary>
    public string RateText => IsPaused ? "paused" : $"{(Rate is > 0 and < 10 ? Fixed(Rate) : Grouped((long)Math.Round(Rate)))}{(Bytes is null ? "" : " items")}/s";

    public static BarState Of(string name, ProgressSnapshot report) => new()
    {
        Name = Shown(name),
        Ended = report.Succeeded + report.Failed,
        Failed = report.Failed,
        Total = report.TotalItems,
        Bytes = report.BytesRead is { } read ? (read, report.TotalBytes) : null,
        Percent = report.PercentComplete,
        Rate = report.Elapsed > TimeSpan.Zero ? (report.Succeeded + report.Failed) / report.Elapsed.TotalSeconds : 0,
        Elapsed = report.Elapsed,
        Left = report.EstimatedTimeRemaining,
    };

    public static BarState Of(LiveEntry entry, DateTimeOffset now) => new()
    {
        Name = Shown(entry.Name ?? $"{entry.Type} {entry.Id}"),
        Ended = (entry.Done ?? 0) + (entry.Failed ?? 0) + (entry.Cancelled ?? 0),
        Failed = entry.Failed ?? 0,
        Total = entry.Total,
        Percent = entry.Percent,
        Rate = entry.Rate1s ?? entry.Rate ?? 0,
        Elapsed = entry.Since is { } since && now > since ? now - since : TimeSpan.Zero,
        Left = entry.EstimatedEnd is { } end && end > now ? end - now : null,
        IsPaused = entry.State == LiveState.Paused,
    };

    /// <summary>A line where nothing can be drawn over.</summary>
    public string Sentence(bool isEnd)
    {
        StringBuilder line = new($"{Name}: {Grouped(Ended)}{(Total is { } total ? $" of {Grouped(total)}" : "")}");
        if (Bytes is { Read: var read })
        {
            line.Append($" {((Total ?? Ended) == 1 ? "item" : "items")}, {BytesText(read)}{(Bytes.Value.Total is { } bytes ? $" of {BytesText(bytes)}" : "")}");
        }

        if (Percent is { } percent && !isEnd)
        {
            line.Append($" ({PercentText(percent)})");
        }

        line.Append(isEnd ? $" in {Time(Elapsed)}, {RateText}" : $", {RateText}");
        if (!isEnd && Left is { } left)
        {
            line.Append($", {Time(left)} left");
        }

        return Failed == 0 ? line.ToString() : line.Append($", {Grouped(Failed)} failed").ToString();
    }

    /// <summary>Rounded down, because 100 means that all have ended.</summary>
    public static string PercentText(double percent) => $"{Math.Floor(percent).ToString(CultureInfo.InvariantCulture)} %";

    public static string Grouped(long count) => count.ToString("N0", CultureInfo.InvariantCulture);

    public static string Time(TimeSpan time) =>
        time.TotalDays > 100 ? "over 100 d"
        : time.TotalDays >= 1 ? string.Create(CultureInfo.InvariantCulture, $"{(int)time.TotalDays} d {time.Hours} h")
        : time.TotalHours >= 1 ? string.Create(CultureInfo.InvariantCulture, $"{(int)time.TotalHours}:{time.Minutes:00}:{time.Seconds:00}")
        : string.Create(CultureInfo.InvariantCulture, $"{time.Minutes}:{time.Seconds:00}");

    // No name of others may move the cursor, turn the order of letters, or fill the memory.
    private static string Shown(string name)
    {
        ReadOnlySpan<char> start = name.AsSpan(0, Math.Min(name.Length, LongestName));
        StringBuilder shown = new(start.Length + 1);
        foreach (Rune rune in start.EnumerateRunes())
        {
            bool isText = Rune.GetUnicodeCategory(rune) is not (UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.Surrogate
                or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator or UnicodeCategory.PrivateUse or UnicodeCategory.OtherNotAssigned);
            shown.Append(isText ? rune.ToString() : "?");
        }

        return (name.Length > LongestName ? shown.Append('…') : shown).ToString();
    }

    private static string BytesText(long bytes)
    {
        double size = bytes;
        string[] units = ["B", "kB", "MB", "GB", "TB", "PB"];
        int unit = 0;
        while (size >= Thousand && unit < units.Length - 1)
        {
            size /= Thousand;
            unit++;
        }

        return $"{(unit == 0 || size >= 100 ? Grouped((long)size) : Fixed(size))} {units[unit]}";
    }

    private static string Fixed(double value) => value.ToString("0.0", CultureInfo.InvariantCulture);
}
