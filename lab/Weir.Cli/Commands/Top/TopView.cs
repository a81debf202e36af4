using System.Globalization;
using Weir.Observability;

namespace Weir.Cli.Commands.Top;

/// <summary>What comes first in the list.</summary>
internal enum TopOrder
{
    Rate,
    Failures,
    Name,
}

/// <summary>How a line is drawn.</summary>
internal enum TopLineKind
{
    Plain,
    Title,
    Chosen,
}

/// <summary>A line of the screen.</summary>
internal readonly record struct TopLine(string Text, TopLineKind Kind = TopLineKind.Plain);

/// <summary>What <c>weir top</c> shows of a snapshot, and how keys change that: a sorted list, and all values of one entry.</summary>
internal sealed class TopView(TopOrder order)
{
    private const int MostOfName = 40;
    private const int LeastOfName = 12;
    private const int Usual = 120;
    private const string Gap = "  ";
    private const string Keys = "r rate  f failures  n name  Up Down Enter: look inside  q quit";
    private const string KeysInside = "Esc back  q quit";

    // The one that says least goes first on a narrow terminal.
    private static readonly Column[] Columns =
    [
        new("kind", false, 2, static e => Word(e.Kind)),
        new("state", false, 1, static e => Word(e.State)),
        new("done", true, 0, static e => Count(e.Done)),
        new("failed", true, 0, static e => Count(e.Failed)),
        new("/s", true, 0, static e => RateOf(e) is { } rate ? rate is > 0 and < 10 ? Fixed(rate) : Count((long)Math.Round(rate)) : "-"),
        new("in flight", true, 1, static e => e.Limit is { } limit ? $"{Count(e.InFlight)}/{Count(limit)}" : Count(e.InFlight)),
        new("waiting", true, 2, static e => Count(e.Queue?.Backlog ?? e.Waiting)),
        new("done %", true, 3, static e => e.Percent is { } percent ? Math.Floor(percent).ToString(CultureInfo.InvariantCulture) : "-"),
    ];

    private TopOrder _order = order;
    private string? _chosen;
    private bool _isInside;
    private int _scroll;

    /// <summary>What is shown.</summary>
    public WeirSnapshot? Snapshot { get; set; }

    /// <summary>A text of the process: what would move the cursor or turn the order of letters is shown as a question mark.</summary>
    public static string Shown(string text)
    {
        const int most = 400;
        StringBuilder shown = new();
        foreach (Rune rune in text.AsSpan(0, Math.Min(text.Length, most)).EnumerateRunes())
        {
            shown.Append(
                Rune.GetUnicodeCategory(rune) is UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.Surrogate or UnicodeCategory.PrivateUse
                    or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator or UnicodeCategory.OtherNotAssigned
                    ? "?"
                    : rune.ToString());
        }

        return text.Length > most ? shown.Append('…').ToString() : shown.ToString();
    }

    /// <summary>A key of the user.</summary>
    /// <returns>False if it ends the program.</returns>
    public bool Press(ConsoleKeyInfo key)
    {
        switch (key.Key)
        {
            case ConsoleKey.Q:
                return false;
            case ConsoleKey.Escape or ConsoleKey.LeftArrow or ConsoleKey.Backspace:
                _isInside = false;
                break;
            case ConsoleKey.Enter or ConsoleKey.RightArrow when Sorted().Count > 0:
                _chosen ??= Sorted()[0].Id;
                _isInside = true;
                break;
            case ConsoleKey.UpArrow:
                Move(-1);
                break;
            case ConsoleKey.DownArrow:
                Move(1);
                break;
            case ConsoleKey.R:
                _order = TopOrder.Rate;
                break;
            case ConsoleKey.F:
                _order = TopOrder.Failures;
                break;
            case ConsoleKey.N:
                _order = TopOrder.Name;
                break;
        }

        return true;
    }

    /// <summary>The list as lines for a file, which no terminal cuts; or of the width of one.</summary>
    public IEnumerable<string> Table(WeirSnapshot snapshot, int? width)
    {
        Snapshot = snapshot;
        List<LiveEntry> entries = Sorted();
        yield return Title(width ?? Usual);
        foreach (string line in Rows(entries, width ?? Usual))
        {
            yield return line.TrimEnd();
        }

        foreach (LiveEntry entry in entries.Where(static e => e.Bottleneck is not null))
        {
            foreach (string line in Wrapped($"{NameOf(entry)}: {Shown(entry.Bottleneck!.Sentence)}", width ?? Usual))
            {
                yield return line;
            }
        }
    }

    /// <summary>The screen: at most as many lines as it has, none wider.</summary>
    public IEnumerable<TopLine> Screen(int width, int height)
    {
        List<LiveEntry> entries = Sorted();
        LiveEntry? inside = _isInside ? entries.FirstOrDefault(e => e.Id == _chosen) : null;
        List<TopLine> lines = [new(Cut(Title(width), width), TopLineKind.Title)];
        int room = height - 3;
        if (_isInside)
        {
            IEnumerable<string> values = inside is null ? ["It has ended."] : Inside(inside, width);
            lines.AddRange(values.Take(height - 2).Select(text => new TopLine(Cut(text, width))));
        }
        else
        {
            string[] rows = [.. Rows(entries, width)];
            int at = Math.Max(0, entries.FindIndex(e => e.Id == _chosen));
            _scroll = Math.Clamp(_scroll, Math.Max(0, at - room + 1), at);
            lines.Add(new(Cut(rows[0], width), TopLineKind.Title));
            lines.AddRange(rows.Skip(1 + _scroll).Take(room)
                .Select((row, i) => new TopLine(
                    Cut(row, width), entries.Count > 0 && entries[_scroll + i].Id == _chosen ? TopLineKind.Chosen : TopLineKind.Plain)));
        }

        lines.AddRange(Enumerable.Repeat(new TopLine(""), Math.Max(0, height - 1 - lines.Count)));
        lines.Add(new TopLine(Cut(_isInside ? KeysInside : Keys, width)));
        return lines;
    }

    /// <summary>All values that an entry has, one a line.</summary>
    private static IEnumerable<string> Inside(LiveEntry e, int width)
    {
        (string Name, string? Value)[] values =
        [
            ("", $"{NameOf(e)}: {Shown(e.Type)}, {Word(e.State)}"),
            ("since", e.Since?.ToString("yyyy-MM-dd HH:mm:ss zzz", CultureInfo.InvariantCulture)),
            ("done", Of(e.Done) + (e.Total is { } total ? $" of {Count(total)}{(e.Percent is { } percent ? $" ({Math.Floor(percent)} %)" : "")}" : "")),
            ("batches", Of(e.Batches)),
            ("failed", Of(e.Failed)),
            ("cancelled", Of(e.Cancelled)),
            ("retried", Of(e.Retried)),
            ("in flight", Of(e.InFlight)),
            ("limit", Of(e.Limit)),
            ("waiting", Of(e.Waiting)),
            ("  for another attempt", Of(e.Waits?.Retry)),
            ("  for a circuit breaker", Of(e.Waits?.CircuitBreaker)),
            ("  for a concurrency limit", Of(e.Waits?.ConcurrencyLimit)),
            ("  for a rate limit", Of(e.Waits?.RateLimit)),
            ("results nobody has taken", Of(e.Output)),
            ("capacity", Of(e.Capacity)),
            ("per second", e.Rate is null && e.Rate1s is null ? null : $"{Rate(e.Rate1s)} now, {Rate(e.Rate1m)} in the last minute, {Rate(e.Rate)} on average"),
            ("estimated end", e.EstimatedEnd?.ToString("yyyy-MM-dd HH:mm:ss zzz", CultureInfo.InvariantCulture)),
            ("circuits", e.Circuits is { } c ? $"{Count(c.Closed)} closed, {Count(c.HalfOpen)} half open, {Count(c.Open)} open" : null),
            ("opened", Of(e.Opened)),
            ("retries saved", e.Budget is { } budget ? Fixed(budget.Balance) : null),
            ("retries refused", Of(e.Budget?.Refused)),
            ("retries allowed", e.Budget is { } of ? $"{Share(of.Ratio)} of the calls, and {Count(of.MinPerSecond)} a second in any case" : null),
            ("keys", Of(e.Budget?.Keys)),
            ("backlog", Of(e.Queue?.Backlog)),
            ("scheduled", Of(e.Queue?.Scheduled)),
            ("with consumers", Of(e.Queue?.InFlight)),
            ("dead letters", Of(e.Queue?.DeadLetters)),
            ("oldest", e.Queue?.OldestSeconds is { } oldest ? $"{Fixed(oldest)} s" : null),
            ("feeds", e.Feeds is { Count: > 0 } feeds ? string.Join(", ", feeds) : null),
            .. (e.Stages ?? []).Select(static s => (
                $"stage {Shown(s.Name)}", (string?)$"busy {Share(s.Busy)}, idle {Share(s.Idle)}, blocked {Share(s.Blocked)}; {Count(s.Workers)} {(s.Workers == 1 ? "worker" : "workers")}")),
            ("bottleneck", e.Bottleneck?.Sentence),
            ("last error", e.LastError is { } error ? $"{error.Type}: {error.Message}" : null),
        ];
        (string Name, string Value)[] known = [.. values.Where(static v => !string.IsNullOrEmpty(v.Value)).Select(static v => (v.Name, Shown(v.Value!)))];
        int names = known.Max(static v => v.Name.Length);
        return known.SelectMany(v => v.Name.Length == 0
            ? [v.Value, ""]
            : Wrapped(v.Value, Math.Max(10, width - names - Gap.Length)).Select((line, i) => (i == 0 ? v.Name : "").PadRight(names) + Gap + line));

        static string? Of(long? count) => count is null ? null : Count(count);
    }

    private static IEnumerable<string> Rows(List<LiveEntry> entries, int width)
    {
        Column[] columns = Columns;
        int names = Math.Max(4, entries.Select(static e => NameOf(e).Length).DefaultIfEmpty().Max());
        names = Math.Min(names, MostOfName);
        int[] widths = [];
        for (int least = 3; least >= 0; least--)
        {
            widths = [.. columns.Select(column => entries.Select(column.Of).Append(column.Title).Max(static text => text.Length))];
            if (Math.Min(names, LeastOfName) + widths.Sum(static w => w + Gap.Length) <= width)
            {
                break;
            }

            columns = [.. columns.Where(column => column.Least < least)];
            widths = [.. columns.Select(column => entries.Select(column.Of).Append(column.Title).Max(static text => text.Length))];
        }

        names = Math.Clamp(width - widths.Sum(static w => w + Gap.Length), Math.Min(4, names), names);
        yield return Line("name", static column => column.Title);
        foreach (LiveEntry entry in entries)
        {
            yield return Line(NameOf(entry), column => column.Of(entry));
        }

        if (entries.Count == 0)
        {
            yield return "Nothing runs.";
        }

        string Line(string name, Func<Column, string> cell) => Cut(name, names).PadRight(names) + string.Concat(
            columns.Select((column, i) => Gap + (column.IsNumber ? cell(column).PadLeft(widths[i]) : cell(column).PadRight(widths[i]))));
    }

    private static IEnumerable<string> Wrapped(string text, int width)
    {
        StringBuilder line = new();

        // A number and its sign stay on one line.
        const string together = "\u00A0%";
        foreach (string word in text.Replace(" %", together, StringComparison.Ordinal).Split(' ').Select(static word => word.Replace(together, " %", StringComparison.Ordinal)))
        {
            if (line.Length > 0 && line.Length + 1 + word.Length > width)
            {
                yield return line.ToString();
                line.Clear();
            }

            line.Append(line.Length > 0 ? " " : "").Append(word);
            while (line.Length > width)
            {
                yield return line.ToString(0, width);
                line.Remove(0, width);
            }
        }

        yield return line.ToString();
    }

    private static string Cut(string text, int width) => text.Length <= width ? text : string.Concat(text.AsSpan(0, Math.Max(0, width - 1)), "…");

    private static string NameOf(LiveEntry entry) => Shown(entry.Name is { Length: > 0 } name ? name : $"{entry.Type} {entry.Id}");

    private static string Word<T>(T value)
        where T : struct, Enum =>
        string.Concat(value.ToString().Select(static (c, i) => i > 0 && char.IsUpper(c) ? $" {char.ToLowerInvariant(c)}" : $"{char.ToLowerInvariant(c)}"));

    private static string Count(long? count) => count?.ToString("N0", CultureInfo.InvariantCulture) ?? "-";

    private static string Fixed(double value) => value.ToString("0.0", CultureInfo.InvariantCulture);

    private static string Rate(double? rate) => rate is { } known ? Fixed(known) : "unknown";

    private static string Share(double share) => $"{Math.Round(100 * share).ToString(CultureInfo.InvariantCulture)} %";

    private static double? RateOf(LiveEntry entry) => entry.Rate1s ?? entry.Rate;

    private string Title(int width)
    {
        WeirSnapshot snapshot = Snapshot!;
        string time = snapshot.Time.ToString("HH:mm:ss", CultureInfo.InvariantCulture);
        string title = $"{Shown(snapshot.ProcessName)}, process {snapshot.ProcessId}: {Count(snapshot.Entries.Count)} live, by {Word(_order)}";
        return Cut(title, Math.Max(1, width - time.Length - Gap.Length)) + Gap + time;
    }

    // The same order for the same values, or the list would jump.
    private List<LiveEntry> Sorted()
    {
        IEnumerable<LiveEntry> entries = Snapshot?.Entries ?? [];
        IOrderedEnumerable<LiveEntry> sorted = _order switch
        {
            TopOrder.Failures => entries.OrderByDescending(static e => e.Failed ?? -1),
            TopOrder.Name => entries.OrderBy(static e => 0),
            _ => entries.OrderByDescending(static e => RateOf(e) ?? -1),
        };
        return [.. sorted.ThenBy(NameOf, StringComparer.OrdinalIgnoreCase).ThenBy(static e => e.Id, StringComparer.Ordinal)];
    }

    private void Move(int by)
    {
        List<LiveEntry> entries = Sorted();
        if (entries.Count > 0)
        {
            int at = entries.FindIndex(e => e.Id == _chosen);
            _chosen = entries[Math.Clamp(at < 0 ? 0 : at + by, 0, entries.Count - 1)].Id;
        }
    }

    private sealed record Column(string Title, bool IsNumber, int Least, Func<LiveEntry, string> Of);
}
