using System.Text;
using Spectre.Console;
using Weir.Terminal;

namespace Weir.Bars.Tests;

/// <summary>What a terminal shows of reports, and what a file gets of them.</summary>
public class BarTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();

    [Fact]
    public void Bar_TotalByCount_HasTheShareTheCountTheRateAndTheTimeLeft()
    {
        TerminalScreen screen = new(80, 24);
        ProgressOptions bar = ConsoleProgress.Bar("import", total: 200_000, On(screen));
        Assert.Equal((200_000, TimeSpan.FromMilliseconds(100)), (bar.Total!.Value, bar.ReportInterval));
        Report(bar, succeeded: 68_000, total: 200_000, elapsed: 20 * Second);
        Assert.Equal(
            ["import  " + new string('━', 29) + "  34 %  68,000/200,000  3,400/s  0:38 left"], screen.Lines);
        Report(bar, succeeded: 199_990, failed: 10, total: 200_000, elapsed: 58 * Second, isFinal: true);
        Assert.Equal(["import: 200,000 of 200,000 in 0:58, 3,448/s, 10 failed"], screen.Lines);
        Assert.True(screen is { HasCursor: true, IsAtEmptyLine: true, Wraps: true });
    }

    [Theory]
    [InlineData(20, "import  ━  34 %")]
    [InlineData(40, "import  ━━━━━━━━━━  34 %  0:38 left")]
    [InlineData(60, "import  ━━━━━━━━━━━━━━━━━━━━  34 %  3,400/s  0:38 left")]
    [InlineData(120, "import  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  34 %  68,000/200,000  3,400/s  0:38 left")]
    public void Bar_OnTerminalsOfEachWidth_IsOneLineWithWhatFits(int width, string expected)
    {
        TerminalScreen screen = new(width, 24);
        Report(ConsoleProgress.Bar("import", 200_000, On(screen)), succeeded: 68_000, total: 200_000, elapsed: 20 * Second);
        string line = Assert.Single(screen.Lines);
        Assert.True(line.Length < width, line);
        Assert.Equal(expected.Replace("━", "", StringComparison.Ordinal), line.Replace("━", "", StringComparison.Ordinal));
        Assert.Contains('━', line);
    }

    [Fact]
    public void Bar_TotalByBytes_HasTheShareOfTheStream()
    {
        using ProgressStream bytes = Progress.OfBytes(new MemoryStream(new byte[3_000_000]));
        TerminalScreen screen = new(80, 24);
        ProgressOptions bar = ConsoleProgress.Bar("lines", bytes, On(screen));
        Assert.Same(bytes, bar.Bytes);
        bytes.ReadExactly(new byte[750_000]);
        bar.OnProgress!(Of(5_000, 0, null, 10 * Second, false) with { BytesRead = bytes.BytesRead, TotalBytes = bytes.TotalBytes });
        Assert.Equal("lines  " + new string('━', 27) + "  25 %  750 kB/3.0 MB  500 items/s  0:30 left", screen.Lines[0]);
        bar.OnProgress!(Of(20_000, 0, null, 40 * Second, true) with { BytesRead = 3_000_000, TotalBytes = bytes.TotalBytes });
        Assert.Equal(["lines: 20,000 items, 3.0 MB of 3.0 MB in 0:40, 500 items/s"], screen.Lines);
    }

    [Fact]
    public void Bar_NoTotal_IsASpinnerThatTurnsWithCountAndRate()
    {
        TerminalScreen screen = new(80, 24);
        ProgressOptions bar = ConsoleProgress.Bar("feed", options: On(screen));
        Report(bar, succeeded: 300, elapsed: 3 * Second);
        Assert.Equal("feed  ⠋  300  100/s  0:03", screen.Lines[0]);
        _time.Advance(Second);
        Report(bar, succeeded: 310, elapsed: TimeSpan.FromSeconds(3.1));
        Assert.Equal("feed  ⠙  310  100/s  0:03", screen.Lines[0]);
    }

    [Fact]
    public void Bar_NoTotal_NarrowBesideOthers_HasItsCountInPlaceOfTheBar()
    {
        TerminalScreen screen = new(40, 24);
        Report(ConsoleProgress.Bar("import", 200_000, On(screen)), succeeded: 68_000, total: 200_000, elapsed: 20 * Second);
        _time.Advance(Second);
        Report(ConsoleProgress.Bar("feed", options: On(screen)), succeeded: 6_159, elapsed: 2 * Second);
        Assert.Equal(["import  " + new string('━', 14) + "  34 %  0:38 left", "feed    ⠋ 6,159" + new string(' ', 20) + "0:02"], screen.Lines);
    }

    [Fact]
    public void Bar_ThatHasEnded_OnANarrowTerminal_IsALineOfWhichNothingIsLost()
    {
        TerminalScreen screen = new(40, 24);
        ProgressOptions first = ConsoleProgress.Bar("import of customers", 15_000, On(screen));
        ProgressOptions second = ConsoleProgress.Bar("other", 10, On(screen));
        Report(first, succeeded: 500, total: 15_000, elapsed: Second);
        _time.Advance(Second);
        Report(second, succeeded: 5, total: 10, elapsed: Second);
        Report(first, succeeded: 14_889, failed: 111, total: 15_000, elapsed: 4 * Second, isFinal: true);
        Assert.Equal("import of customers: 15,000 of 15,000 in 0:04, 3,750/s, 111 failed", string.Concat(screen.Lines[..^1]));
        Assert.StartsWith("other  ━", screen.Lines[^1], StringComparison.Ordinal);

        // One of the width of the terminal, whose last character stands at the edge.
        Report(second, succeeded: 10, total: 10, elapsed: Second, isFinal: true);
        ProgressOptions third = ConsoleProgress.Bar("of forty cells.", 10, On(screen));
        Report(third, succeeded: 10, total: 10, elapsed: 7 * Second, isFinal: true);
        Assert.Equal(["other: 10 of 10 in 0:01, 10/s", "of forty cells.: 10 of 10 in 0:07, 1.4/s"], screen.Lines[^2..]);
        Assert.True(screen is { HasCursor: true, IsAtEmptyLine: true, Wraps: true });
    }

    [Fact]
    public void Bars_TwoAtOnce_StandBelowEachOtherInColumns_AndTheFirstToEndGoesAbove()
    {
        TerminalScreen screen = new(100, 24);
        ProgressOptions first = ConsoleProgress.Bar("orders", 1_000, On(screen));
        ProgressOptions second = ConsoleProgress.Bar("pictures of them", 20, On(screen));
        Report(first, succeeded: 500, total: 1_000, elapsed: 10 * Second);
        _time.Advance(Second);
        Report(second, succeeded: 3, total: 20, elapsed: Second);
        string bar = new('━', 40);
        Assert.Equal(
            [
                $"orders            {bar}  50 %  500/1,000   50/s  0:10 left",
                $"pictures of them  {bar}  15 %       3/20  3.0/s  0:05 left",
            ],
            screen.Lines);
        _time.Advance(Second);
        Report(first, succeeded: 1_000, total: 1_000, elapsed: 20 * Second, isFinal: true);
        Assert.Equal(2, screen.Lines.Length);
        Assert.Equal("orders: 1,000 of 1,000 in 0:20, 50/s", screen.Lines[0]);
        Assert.StartsWith("pictures of them  ━", screen.Lines[1], StringComparison.Ordinal);
        Report(second, succeeded: 20, total: 20, elapsed: 7 * Second, isFinal: true);
        Assert.Equal(["orders: 1,000 of 1,000 in 0:20, 50/s", "pictures of them: 20 of 20 in 0:07, 2.9/s"], screen.Lines);
        Assert.True(screen.IsAtEmptyLine);
    }

    [Fact]
    public void Bars_MoreThanTheScreenHasLines_AreCutAndCounted()
    {
        TerminalScreen screen = new(80, 6);
        foreach (int i in Enumerable.Range(1, 9))
        {
            _time.Advance(Second);
            Report(ConsoleProgress.Bar($"run {i}", 10, On(screen)), succeeded: i, total: 10, elapsed: Second);
        }

        Assert.Equal(4, screen.Lines.Length);
        Assert.Equal("and 6 more", screen.Lines[3]);
    }

    [Fact]
    public void Bar_NoUnicode_IsDrawnInAscii()
    {
        TerminalScreen screen = new(60, 24);
        ConsoleProgressOptions options = new() { Console = Terminals.On(screen, isUnicode: false), TimeProvider = _time };
        Report(ConsoleProgress.Bar("import", 4, options), succeeded: 1, total: 4, elapsed: Second);
        Assert.Equal("import  #####" + new string('-', 17) + "  25 %  1/4  1.0/s  0:03 left", screen.Lines[0]);
        Assert.True(Ascii.IsValid(screen.Written));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Bar_ColoursOrNone_AreThoseOfTheConsole(bool hasColors)
    {
        TerminalScreen screen = new(80, 24);
        ConsoleProgressOptions options = new() { Console = Terminals.On(screen, hasColors), TimeProvider = _time };
        Report(ConsoleProgress.Bar("import", 4, options), succeeded: 1, failed: 1, total: 4, elapsed: Second);
        string[] styles = [.. screen.Styled[0].Select(static run => run.Style).Where(static style => style.Length > 0)];
        Assert.Equal(hasColors ? ["32", "90", "91"] : [], styles);
    }

    [Fact]
    public void Bar_NoTerminal_IsALineForEachReportAndOneAtTheEnd()
    {
        StringWriter file = new();
        ConsoleProgressOptions options = new() { Console = Terminals.On(file, width: 20, isTerminal: false), TimeProvider = _time };
        ProgressOptions bar = ConsoleProgress.Bar("import", 200_000, options);
        Assert.Equal(10 * Second, bar.ReportInterval);
        Report(bar, succeeded: 68_000, failed: 2, total: 200_000, elapsed: 20 * Second);
        Report(bar, succeeded: 199_998, failed: 2, total: 200_000, elapsed: 58 * Second, isFinal: true);
        Assert.Equal(
            ["import: 68,002 of 200,000 (34 %), 3,400/s, 0:38 left, 2 failed", "import: 200,000 of 200,000 in 0:58, 3,448/s, 2 failed"],
            file.ToString().TrimEnd().Split(Environment.NewLine));
    }

    [Theory]
    [InlineData("[red]danger[/]", "[red]danger[/]")]
    [InlineData("a\e[2Jb\a\r\nc", "a?[2Jb???c")]
    [InlineData("\u202Eevil\u2066", "?evil?")]
    [InlineData("数据", "数据")]
    public void Bar_HostileName_IsShownAsText(string name, string shown)
    {
        TerminalScreen screen = new(80, 24);
        Report(ConsoleProgress.Bar(name, 4, On(screen)), succeeded: 1, total: 4, elapsed: Second);
        Assert.StartsWith(shown + "  ━", Assert.Single(screen.Lines), StringComparison.Ordinal);
    }

    [Fact]
    public void Bar_NameOfAMegabyte_IsCut()
    {
        TerminalScreen screen = new(80, 24);
        ProgressOptions bar = ConsoleProgress.Bar(new string('x', 1_000_000), 4, On(screen));
        Report(bar, succeeded: 1, total: 4, elapsed: Second);
        Assert.InRange(Assert.Single(screen.Lines).Length, 40, 79);
        Assert.Contains("…  ━", screen.Lines[0], StringComparison.Ordinal);
        Report(bar, succeeded: 4, total: 4, elapsed: Second, isFinal: true);
        Assert.InRange(screen.Written.Length, 1, 1_000);
    }

    [Fact]
    public void Bar_WindowBecomesNarrower_StaysOneLine()
    {
        TerminalScreen screen = new(100, 24);
        ConsoleProgressOptions options = On(screen);
        ProgressOptions bar = ConsoleProgress.Bar("import", 4, options);
        Report(bar, succeeded: 1, total: 4, elapsed: Second);
        screen.Narrow(40);
        Assert.Equal(2, screen.Lines.Length);
        _time.Advance(Second);
        Report(bar, succeeded: 2, total: 4, elapsed: 2 * Second);
        Assert.Contains("50 %", Assert.Single(screen.Lines), StringComparison.Ordinal);
    }

    [Fact]
    public void Bar_ManyReportsAtOnce_AreDrawnFewTimes()
    {
        TerminalScreen screen = new(80, 24);
        ProgressOptions bar = ConsoleProgress.Bar("import", 1_000, On(screen));
        Report(bar, succeeded: 1, total: 1_000, elapsed: Second);
        int once = screen.Written.Length;
        foreach (int i in Enumerable.Range(2, 100))
        {
            Report(bar, succeeded: i, total: 1_000, elapsed: Second);
        }

        Assert.Equal(once, screen.Written.Length);
    }

    [Theory]
    [InlineData(0, null)]
    [InlineData(5, 0L)]
    public void Bar_NothingToDo_EndsWithALine(long succeeded, long? total)
    {
        TerminalScreen screen = new(80, 24);
        Report(ConsoleProgress.Bar("import", options: On(screen)), succeeded, total: total, isFinal: true);
        Assert.StartsWith($"import: {succeeded}", Assert.Single(screen.Lines), StringComparison.Ordinal);
    }

    [Fact]
    public void Bar_ArgumentsOutOfRange_AreRefusedAtTheCall()
    {
        Assert.Equal("total", Assert.Throws<ArgumentOutOfRangeException>(static () => ConsoleProgress.Bar("x", -1)).ParamName);
        Assert.Throws<ArgumentNullException>(static () => ConsoleProgress.Bar(null!));
        Assert.Throws<ArgumentNullException>(static () => ConsoleProgress.Bar("x", (ProgressStream)null!));
        Assert.Contains(
            "Interval must be from 20 milliseconds to 1 day",
            Assert.Throws<ArgumentOutOfRangeException>(static () => ConsoleProgress.ShowAll(new() { Interval = TimeSpan.Zero })).Message,
            StringComparison.Ordinal);
        Assert.Equal(
            nameof(ConsoleProgressOptions.LineInterval),
            Assert.Throws<ArgumentOutOfRangeException>(static () => ConsoleProgress.Bar("x", 1, new() { LineInterval = TimeSpan.FromDays(2) })).ParamName);
    }

    /// <summary>What the program writes itself while there are bars.</summary>
    [Fact]
    public void WriteAbove_LinesAndPartsOfLines_AreNotTornAndStandAbove()
    {
        TerminalScreen screen = new(80, 24);
        ConsoleProgressOptions options = On(screen);
        ProgressOptions bar = ConsoleProgress.Bar("import", 4, options);
        BarDisplay display = BarDisplay.Of(options);
        Report(bar, succeeded: 1, total: 4, elapsed: Second);
        _time.Advance(Second);
        display.WriteAbove(screen, "one\n");
        Assert.Equal(2, screen.Lines.Length);
        Assert.Equal("one", screen.Lines[0]);

        // Without its end, there is no bar, whatever is reported.
        display.WriteAbove(screen, "Go on? ");
        _time.Advance(Second);
        Report(bar, succeeded: 2, total: 4, elapsed: 2 * Second);
        Assert.Equal(["one", "Go on?"], screen.Lines);
        display.WriteAbove(screen, "yes\n");
        Assert.Equal(["one", "Go on? yes"], screen.Lines[..2]);
        Assert.Contains("50 %", screen.Lines[2], StringComparison.Ordinal);

        display.WriteAbove(screen, "last");
        Report(bar, succeeded: 4, total: 4, elapsed: 2 * Second, isFinal: true);
        Assert.Equal(["one", "Go on? yes", "last", "import: 4 of 4 in 0:02, 2.0/s"], screen.Lines);
    }

    [Fact(Timeout = 60_000)]
    public async Task Run_OutputThatFails_EndsAsWithoutABar()
    {
        ConsoleProgressOptions options = new() { Console = Terminals.On(new Broken()), Interval = TimeSpan.FromMilliseconds(20) };
        List<int> results = await Enumerable.Range(0, 50).SelectParallelAsync(
            static async (x, token) =>
            {
                await Task.Delay(TimeSpan.FromMilliseconds(5), TimeProvider.System, token);
                return x;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, Progress = ConsoleProgress.Bar("x", options: options) }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, 50), results);
        using (ConsoleProgress.ShowAll(options with { TimeProvider = _time }))
        {
            _time.Advance(Second);
        }
    }

    /// <summary>A real run with its own reports, by a clock that the test moves.</summary>
    [Theory(Timeout = 60_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Run_WithABar_ShowsItsItemsAndThenTheWhole(bool inBatches)
    {
        TerminalScreen screen = new(80, 24);
        using Gate gate = new();
        int waiting = 0;
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 1, TimeProvider = _time, Progress = ConsoleProgress.Bar("import", total: 8, On(screen)),
        };
        async ValueTask<int> CallAsync(int x, CancellationToken token)
        {
            if (x == 4)
            {
                Interlocked.Increment(ref waiting);
                await gate.WaitAsync(token);
            }

            return x;
        }

        Task run = inBatches
            ? Source().BatchParallelAsync(2, async (batch, token) => await CallAsync(batch[0], token), options)
            : Source().SelectParallelAsync(CallAsync, options);
        await Guard.UntilAsync(() => Volatile.Read(ref waiting) == 1, "the fifth item");
        _time.Advance(Second);
        await Guard.UntilAsync(() => Text().Contains("4/8", StringComparison.Ordinal), "the bar");
        Assert.Contains("50 %", Text(), StringComparison.Ordinal);
        gate.Open();
        await run.WithinAsync("the run");
        Assert.StartsWith("import: 8 of 8 in 0:01, 8.0/s", Text(), StringComparison.Ordinal);

        // A list of its own would say how many there are.
        IEnumerable<int> Source()
        {
            for (int i = 0; i < 8; i++)
            {
                yield return i;
            }
        }

        string Text()
        {
            lock (screen)
            {
                return string.Join('\n', screen.Lines);
            }
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task ShowAll_RunsUnderWay_HaveABarEachAndNoneIsLeft()
    {
        TerminalScreen screen = new(100, 24);
        using Gate gate = new();
        int inside = 0;
        string[] names = [$"first-{Guid.NewGuid():N}", $"second-{Guid.NewGuid():N}"];
        using IDisposable all = ConsoleProgress.ShowAll(On(screen));
        Task[] runs =
        [
            .. names.Select(name => new[] { 0, 1, 2, 3 }.ForEachParallelAsync(
                async (x, token) =>
                {
                    Interlocked.Increment(ref inside);
                    if (x > 0)
                    {
                        await gate.WaitAsync(token);
                    }
                },
                new ParallelRunOptions { OperationName = name, MaxDegreeOfParallelism = 1 })),
        ];
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 4, "both second items");
        _time.Advance(Second);
        Assert.All(names, name => Assert.Contains(screen.Lines, line => line.StartsWith(name, StringComparison.Ordinal) && line.Contains("25 %  1/4", StringComparison.Ordinal)));
        gate.Open();
        await Task.WhenAll(runs).WithinAsync("the runs");
        all.Dispose();
        Assert.Empty(screen.Lines);
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact]
    public async Task OfBytes_EveryWayToRead_IsCounted()
    {
        MemoryStream inner = new(new byte[100]) { Position = 10 };
        await using ProgressStream bytes = Progress.OfBytes(inner);
        Assert.Equal((0, 90), (bytes.BytesRead, bytes.TotalBytes!.Value));
        byte[] buffer = new byte[10];
        bytes.ReadExactly(buffer, 0, 10);
        Assert.Equal(0, bytes.ReadByte());
        await bytes.ReadExactlyAsync(buffer);
#pragma warning disable CA1835 // It is what is tested.
        Assert.Equal(10, await bytes.ReadAsync(buffer, 0, 10, CancellationToken.None));
#pragma warning restore CA1835
        Assert.Equal(31, bytes.BytesRead);
        await bytes.CopyToAsync(Stream.Null);
        Assert.Equal(90, bytes.BytesRead);
        Assert.Throws<NotSupportedException>(() => bytes.Position = 0);
        await bytes.DisposeAsync();
        Assert.False(inner.CanRead);
        Assert.Equal("length", Assert.Throws<ArgumentOutOfRangeException>(static () => Progress.OfBytes(Stream.Null, -1)).ParamName);
        Assert.Equal("stream", Assert.Throws<ArgumentException>(() => Progress.OfBytes(inner)).ParamName);
    }

    private static ProgressSnapshot Of(long succeeded, long failed, long? total, TimeSpan elapsed, bool isFinal) => new()
    {
        Started = succeeded + failed, Succeeded = succeeded, Failed = failed, TotalItems = total, Elapsed = elapsed, IsFinal = isFinal,
    };

    private static void Report(ProgressOptions bar, long succeeded, long failed = 0, long? total = null, TimeSpan elapsed = default, bool isFinal = false) =>
        bar.OnProgress!(Of(succeeded, failed, total, elapsed, isFinal));

    private ConsoleProgressOptions On(TerminalScreen screen) => _consoles.GetValue(
        screen, s => new ConsoleProgressOptions { Console = Terminals.On(s), TimeProvider = _time });

    private readonly System.Runtime.CompilerServices.ConditionalWeakTable<TerminalScreen, ConsoleProgressOptions> _consoles = [];

    private sealed class Broken : StringWriter
    {
        public override void Write(string? value) => throw new IOException("The terminal is gone.");

        public override void Write(char value) => throw new IOException("The terminal is gone.");
    }
}
