using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Text;
using Weir.Cli.App;
using Weir.Cli.Commands.Top;
using Weir.Cli.Hosting;
using Weir.Cli.Kit.Hosting;
using Weir.Cli.Tests.Support;
using Weir.Observability;
using Weir.Site.Pictures;
using Weir.TestKit;

namespace Weir.Cli.Tests.Commands.Top;

/// <summary><c>weir top</c>: what it shows of a snapshot, and whether it gets one from a page and from a process that runs.</summary>
public sealed class TopTests
{
    private const string Marker = "WEIR_TESTS_TOP_NAME";
    private const string UnderWay = "all is under way";
    private static readonly DateTimeOffset Now = new(2026, 1, 2, 3, 4, 5, TimeSpan.Zero);

    private static readonly WeirSnapshot Sample = new()
    {
        Time = Now, ProcessId = 4711, ProcessName = "import", IsWatched = true,
        Entries =
        [
            new()
            {
                Id = "run-1", Kind = LiveKind.Run, Type = "ForEachParallelAsync", Name = "orders", State = LiveState.Running, Since = Now.AddMinutes(-1),
                Done = 68_000, Failed = 3, Retried = 12, InFlight = 48, Waiting = 7, Limit = 50, Total = 200_000, Rate = 3_300, Rate1s = 3_412.4, Rate1m = 3_400,
                Waits = new LiveWaits(5, 0, 2, 0), EstimatedEnd = Now.AddSeconds(39), LastError = new LiveError { Type = "System.IO.IOException", Message = "row 7 is [red]bad[/]\e[2J" },
                Stages = [new LiveStage { Name = "work", Busy = 0.97, Idle = 0.02, Blocked = 0.01, Workers = 50 }],
                Bottleneck = new LiveBottleneck { Stage = "work", Reason = LiveReason.SlowStage, Gain = 0.3, Sentence = "work is busy 97 % on 50 of 50 workers." },
            },
            new() { Id = "run-2", Kind = LiveKind.Run, Type = "SelectParallelAsync", Name = "feed\e[31m", State = LiveState.Paused, Done = 10, Failed = 0, Rate1s = 4.25, InFlight = 0, Limit = 2 },
            new() { Id = "breaker-3", Kind = LiveKind.Breaker, Type = "CircuitBreaker", Name = "prices", State = LiveState.HalfOpen },
            new() { Id = "queue-4", Kind = LiveKind.Queue, Type = "PostgresWorkQueue", Name = "mails", State = LiveState.Running, Failed = 5, Queue = new LiveQueue { Backlog = 1_200, DeadLetters = 8, OldestSeconds = 3.5 } },
        ],
    };

    [Fact]
    public void Table_80Columns_HasARowForEachEntryInTheOrderOfTheRate()
    {
        string[] lines = [.. new TopView(TopOrder.Rate).Table(Sample, 80)];
        Assert.All(lines, static line => Assert.InRange(line.Length, 0, 80));
        Assert.StartsWith("import, process 4711: 4 live, by rate", lines[0], StringComparison.Ordinal);
        Assert.EndsWith("03:04:05", lines[0], StringComparison.Ordinal);
        Assert.Equal(["name", "orders", "feed?[31m", "mails", "prices"], lines[1..6].Select(static line => line.Split("  ")[0].Trim()));
        Assert.Equal("name       kind     state        done  failed     /s  in flight  waiting  done %", lines[1]);
        Assert.Equal("orders     run      running    68,000       3  3,412      48/50        7      34", lines[2]);
        Assert.Equal("feed?[31m  run      paused         10       0    4.3        0/2        -       -", lines[3]);
        Assert.Equal("orders: work is busy 97 % on 50 of 50 workers.", lines[6]);
    }

    [Theory]
    [InlineData(20, "orders")]
    [InlineData(40, "orders     68,000       3  3,412")]
    [InlineData(120, "orders     run      running    68,000       3  3,412      48/50        7      34")]
    public void Table_OtherWidths_HasTheColumnsThatFit(int width, string expected)
    {
        string[] lines = [.. new TopView(TopOrder.Rate).Table(Sample, width)];
        Assert.All(lines, line => Assert.InRange(line.Length, 0, Math.Max(width, 30)));
        Assert.StartsWith(expected, lines[2], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("failures", new[] { "mails", "orders", "feed?[31m", "prices" })]
    [InlineData("name", new[] { "feed?[31m", "mails", "orders", "prices" })]
    public void Table_OtherOrders_AreThoseOfTheirColumn(string order, string[] expected) =>
        Assert.Equal(
            expected,
            new TopView(Enum.Parse<TopOrder>(order, ignoreCase: true)).Table(Sample, 80).Skip(2).Take(4).Select(static line => line.Split("  ")[0].Trim()));

    [Fact]
    public void Screen_KeysSortChooseAndLookInside()
    {
        TopView view = new(TopOrder.Rate) { Snapshot = Sample };
        string[] Lines() => [.. view.Screen(80, 24).Select(static line => line.Text)];
        Assert.Equal(24, Lines().Length);
        Assert.DoesNotContain(view.Screen(80, 24), static line => line.Kind == TopLineKind.Chosen);
        Assert.True(view.Press(Key(ConsoleKey.N)));
        Assert.StartsWith("feed", Lines()[2], StringComparison.Ordinal);
        view.Press(Key(ConsoleKey.DownArrow));
        view.Press(Key(ConsoleKey.DownArrow));
        view.Press(Key(ConsoleKey.DownArrow));
        Assert.StartsWith("orders", Assert.Single(view.Screen(80, 24), static line => line.Kind == TopLineKind.Chosen).Text, StringComparison.Ordinal);
        view.Press(Key(ConsoleKey.Enter));
        string[] inside = Lines();
        Assert.All(inside, static line => Assert.InRange(line.Length, 0, 80));
        Assert.Equal("orders: ForEachParallelAsync, running", inside[1]);
        string all = string.Join(' ', string.Join(' ', inside).Split(' ', StringSplitOptions.RemoveEmptyEntries));
        foreach (string expected in new[]
        {
            "done 68,000 of 200,000 (34 %)", "failed 3", "retried 12", "in flight 48", "limit 50", "for another attempt 5", "for a concurrency limit 2",
            "per second 3412.4 now, 3400.0 in the last minute, 3300.0 on average", "stage work busy 97 %, idle 2 %, blocked 1 %; 50 workers",
            "bottleneck work is busy 97 % on 50 of 50 workers.", "last error System.IO.IOException: row 7 is [red]bad[/]?[2J",
        })
        {
            Assert.Contains(expected, all, StringComparison.Ordinal);
        }

        view.Snapshot = Sample with { Entries = [Sample.Entries[1]] };
        Assert.Equal("It has ended.", Lines()[1]);
        view.Press(Key(ConsoleKey.Escape));
        Assert.StartsWith("feed", Lines()[2], StringComparison.Ordinal);
        Assert.False(view.Press(Key(ConsoleKey.Q)));
    }

    [Fact]
    public void Screen_InsideARetryBudget_HasWhatIsLeft()
    {
        TopView view = new(TopOrder.Rate)
        {
            Snapshot = Sample with { Entries = [new() { Id = "retry-budget-1", Kind = LiveKind.RetryBudget, Type = "RetryBudgets", Name = "prices", State = LiveState.Running, Budget = new(12.5, 7, 0.1, 10, 3) }] },
        };
        Assert.StartsWith("prices  retry budget  running", view.Screen(120, 24).ElementAt(2).Text, StringComparison.Ordinal);
        view.Press(Key(ConsoleKey.Enter));
        string inside = string.Join(' ', string.Join(' ', view.Screen(80, 24).Select(static line => line.Text)).Split(' ', StringSplitOptions.RemoveEmptyEntries));
        Assert.Contains("retries saved 12.5 retries refused 7 retries allowed 10 % of the calls, and 10 a second in any case keys 3", inside, StringComparison.Ordinal);
    }

    [Fact]
    public void Screen_ManyEntriesOnALowTerminal_ScrollsWithTheChosenOne()
    {
        TopView view = new(TopOrder.Name)
        {
            Snapshot = Sample with { Entries = [.. Enumerable.Range(0, 10_000).Select(static i => Sample.Entries[0] with { Id = $"run-{i}", Name = $"run {i:00000}" })] },
        };
        for (int i = 0; i < 30; i++)
        {
            view.Press(Key(ConsoleKey.DownArrow));
        }

        TopLine[] lines = [.. view.Screen(80, 10)];
        Assert.Equal(10, lines.Length);
        Assert.StartsWith("run 00029", Assert.Single(lines, static line => line.Kind == TopLineKind.Chosen).Text, StringComparison.Ordinal);
    }

    [Fact]
    public void Table_HostileAndLongNames_AreTextThatIsCut()
    {
        WeirSnapshot snapshot = Sample with
        {
            ProcessName = new string('p', 1_000_000),
            Entries = [Sample.Entries[0] with { Name = new string('x', 1_000_000), LastError = new LiveError { Type = "\u202E", Message = new string('y', 1_000_000) } }, Sample.Entries[1] with { Name = "[red]\a\u202E" }],
        };
        TopView view = new(TopOrder.Rate);
        string[] lines = [.. view.Table(snapshot, 80)];
        Assert.All(lines, static line => Assert.InRange(line.Length, 0, 80));
        Assert.Contains(lines, static line => line.StartsWith("[red]??", StringComparison.Ordinal));
        view.Press(Key(ConsoleKey.Enter));
        Assert.All(view.Screen(80, 24), static line => Assert.DoesNotContain(line.Text, static c => char.IsControl(c) || c == '\u202E'));
    }

    [Fact(Timeout = 60_000)]
    public async Task Top_PageOnce_PrintsItsListOrItsJson()
    {
        using Page page = new();
        LoadResult table = await RunAsync([page.Address, "--once", "--sort", "name"]);
        Assert.Equal((0, ""), (table.ExitCode, table.Error));
        Assert.Equal(string.Join(Environment.NewLine, new TopView(TopOrder.Name).Table(Sample, null)), table.Out.TrimEnd());
        LoadResult json = await RunAsync([page.Address, "--json"]);
        Assert.Equal(Sample.ToJson(), Encoding.UTF8.GetBytes(json.Out.Trim()));
    }

    [Theory(Timeout = 60_000)]
    [InlineData("/missing", "answers 404, and no snapshot of Weir: give the address that MapWeir has.")]
    [InlineData("/text", "is no snapshot of Weir that this version knows: give the address that MapWeir has.")]
    public async Task Top_PageThatIsNone_IsOneSentence(string path, string expected)
    {
        using Page page = new();
        LoadResult result = await RunAsync([page.Address + path]);
        Assert.Equal(1, result.ExitCode);
        Assert.Contains(expected, Assert.Single(result.Error.TrimEnd().Split('\n')), StringComparison.Ordinal);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("Secret")]
    [InlineData(": Secret")]
    [InlineData("X-User:")]
    [InlineData("X User: Secret")]
    [InlineData("X-User: Secret\r\nX-Other: more")]
    [InlineData("X-User: Sécret")]
    [InlineData("Content-Length: 7Secret")]
    public async Task Top_HeaderThatIsNone_IsOneSentenceWithoutItsText(string header)
    {
        using Page page = new();
        LoadResult result = await RunAsync([page.Address, "--header", header]);
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.Equal(
            "weir: --header must be the name of a request header, a colon and a value of one line in ASCII, such as --header \"Authorization: Bearer ...\", or @ and a file with such lines.",
            result.Error.TrimEnd());
    }

    [Fact]
    public void Headers_OfAFile_AreItsLines()
    {
        using TemporaryFile file = new("X-User: Secret\r\n\n  Cookie: a=b; c=d  \n");
        Assert.Equal([("X-User", "Secret"), ("Cookie", "a=b; c=d")], TopSources.Headers("@" + file.Path));
        Assert.Equal([("X-User", "@Secret")], TopSources.Headers("X-User: @Secret"));
    }

    [Theory(Timeout = 60_000)]
    [InlineData("", "The file '*' of --header must have a header, and it is empty.")]
    [InlineData(" \n\n", "The file '*' of --header must have a header, and it is empty.")]
    [InlineData("X-User: ada\n\nSecret", "Line 3 of the file '*' of --header must be the name of a request header, a colon and a value of one line in ASCII.")]
    [InlineData("X-User: ada\nX-Other: Sécret", "Line 2 of the file '*' of --header must be the name of a request header, a colon and a value of one line in ASCII.")]
    public async Task Top_HeadersOfAFileThatHasNone_AreOneSentenceWithoutTheirText(string text, string expected)
    {
        using Page page = new();
        using TemporaryFile file = new(text);
        LoadResult result = await RunAsync([page.Address, "--header", "@" + file.Path]);
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.Equal("weir: " + expected.Replace("*", file.Path, StringComparison.Ordinal), result.Error.TrimEnd());
    }

    [Fact(Timeout = 60_000)]
    public async Task Top_HeadersOfAFileThatCannotBeRead_AreOneSentence()
    {
        using Page page = new();
        using TemporaryFile file = new(new string('x', 70_000));
        string none = file.Path + ".none";
        Assert.Equal($"weir: The file '{none}' of --header cannot be read: Could not find file '{none}'.", (await RunAsync([page.Address, "--header", "@" + none])).Error.TrimEnd());
        LoadResult result = await RunAsync([page.Address, "--header", "@" + file.Path]);
        Assert.Equal($"weir: The file '{file.Path}' of --header cannot be read: it has more than 64 kB.", result.Error.TrimEnd());
        Assert.StartsWith("weir: The file '' of --header cannot be read: ", (await RunAsync([page.Address, "--header", "@"])).Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task Top_HeaderForAProcess_IsRefused()
    {
        LoadResult result = await RunAsync([Environment.ProcessId.ToString(CultureInfo.InvariantCulture), "--header", "X-User: Secret"]);
        Assert.Equal((1, "weir: --header is for the address of a page, and not for a process."), (result.ExitCode, result.Error.TrimEnd()));
    }

    [Theory(Timeout = 60_000)]
    [InlineData("2147483647", "weir: There is no process 2147483647.")]
    [InlineData("http://user:secret@127.0.0.1:1/weir", "http://127.0.0.1:1/weir does not answer: Connection refused (127.0.0.1:1).")]
    [InlineData("ftp://x", "weir: top needs the number of a process, or an address that begins with http:// or https://.")]
    [InlineData("orders", "weir: top needs the number of a process, or an address that begins with http:// or https://.")]
    public async Task Top_WrongProcessOrAddress_IsOneSentence(string given, string expected)
    {
        LoadResult result = await RunAsync([given]);
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.EndsWith(expected, Assert.Single(result.Error.TrimEnd().Split('\n')), StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task Top_NoArgument_ListsTheProcessesOrSaysThatThereIsNone()
    {
        LoadResult none = await RunAsync([], new TopHost { ReadKey = null, Processes = static () => [] });
        Assert.Equal(1, none.ExitCode);
        Assert.StartsWith("weir: No process of this machine is seen to have Weir loaded", none.Error, StringComparison.Ordinal);
        LoadResult two = await RunAsync([], new TopHost { ReadKey = null, Processes = static () => [(12, "first"), (345, "second\e[2J")] });
        Assert.Equal(
            ["      12  first", "     345  second?[2J", "'weir top PID' shows one of them."], two.Out.TrimEnd().Split(Environment.NewLine));
        Assert.Equal((0, ""), (two.ExitCode, two.Error));
    }

    /// <summary>A terminal in memory, keys of a test, and a page that goes away at the end.</summary>
    [Theory(Timeout = 60_000)]
    [InlineData("q")]
    [InlineData("signal")]
    [InlineData("end")]
    public async Task Top_OnATerminal_DrawsAndLeavesItAsItWas(string way)
    {
        using Page page = new();
        using TerminalScreen screen = new(80, 24);
        using CancellationTokenSource stop = new();
        bool isOver = false;
        TopHost top = new()
        {
            Size = static () => (80, 24),
            ReadKey = () => Volatile.Read(ref isOver) && way == "q" ? Key(ConsoleKey.Q) : null,
        };
        Task<LoadResult> running = RunAsync([page.Address, "--interval", "200ms"], top, screen, stop.Token);
        await Guard.UntilAsync(() => page.Answers >= 3 || running.IsCompleted, "three looks");
        Volatile.Write(ref isOver, true);
        if (way == "signal")
        {
            await stop.CancelAsync();
        }
        else if (way == "end")
        {
            page.Dispose();
        }

        LoadResult result = await running.WithinAsync("top");
        Assert.Equal(0, result.ExitCode);
        Assert.True(screen is { HasCursor: true, IsAlternate: false, Wraps: true });
        Assert.Contains("\e[?1049h\e[?25l", screen.Written, StringComparison.Ordinal);
        Assert.StartsWith("import, process 4711", screen.Lines[0], StringComparison.Ordinal);
        Assert.StartsWith("orders", screen.Lines[2], StringComparison.Ordinal);
        Assert.StartsWith("r rate", screen.Lines[23], StringComparison.Ordinal);
        Assert.Equal(way == "end" ? 1 : 0, result.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
    }

    [Fact(Timeout = 120_000)]
    public async Task Top_ProcessThatRuns_IsSeenByItsNumberUntilItEnds()
    {
        string name = $"outside.{Guid.NewGuid():N}";
        using Process child = StartChild(name);
        try
        {
            while (await child.StandardOutput.ReadLineAsync().WithinAsync("the child") is { } line && !line.Contains(UnderWay, StringComparison.Ordinal))
            {
            }

            Assert.Contains(TopSources.Processes(), p => p.Id == child.Id);
            string id = child.Id.ToString(CultureInfo.InvariantCulture);
            LoadResult json = await RunAsync([id, "--json", "--interval", "200ms"]);
            Assert.Equal((0, ""), (json.ExitCode, json.Error));
            WeirSnapshot snapshot = WeirSnapshot.FromJson(Encoding.UTF8.GetBytes(json.Out));
            Assert.Equal((child.Id, true), (snapshot.ProcessId, snapshot.IsWatched));
            LiveEntry run = Assert.Single(snapshot.Entries, e => e.Name == name);
            Assert.Equal((LiveKind.Run, 1L, 2L, 2_000L), (run.Kind, run.Done!.Value, run.InFlight!.Value, run.Total!.Value));
            Assert.NotNull(run.Rate1s);

            // More than fits into one event: 300 runs.
            Assert.Equal(301, snapshot.Entries.Count(e => e.Name?.StartsWith(name, StringComparison.Ordinal) == true));

            using TerminalScreen screen = new(80, 24);
            Task<LoadResult> running = RunAsync([id], new TopHost { Size = static () => (80, 24), ReadKey = static () => null }, screen);
            await Guard.UntilAsync(() => Seen(screen).Contains("name ", StringComparison.Ordinal) || running.IsCompleted, "the first list");
            child.Kill();
            LoadResult result = await running.WithinAsync("top");
            Assert.Equal((0, $"weir: Process {id} has ended.{Environment.NewLine}"), (result.ExitCode, result.Error));
            Assert.True(screen is { HasCursor: true, IsAlternate: false });
        }
        finally
        {
            if (!child.HasExited)
            {
                child.Kill();
            }
        }

        static string Seen(TerminalScreen screen)
        {
            lock (screen)
            {
                return screen.Written;
            }
        }
    }

    /// <summary>What the child does, until it is killed.</summary>
    [Fact(Timeout = 120_000)]
    public async Task InTheChild()
    {
        if (Environment.GetEnvironmentVariable(Marker) is not { } name)
        {
            return;
        }

        using Weir.TestKit.Gate gate = new();
        int inside = 0;
        Task run = Enumerable.Range(0, 2_000).ForEachParallelAsync(
            async (x, token) =>
            {
                if (x > 0)
                {
                    Interlocked.Increment(ref inside);
                    await gate.WaitAsync(token);
                }
            },
            new ParallelRunOptions { OperationName = name, MaxDegreeOfParallelism = 2 });
        Task[] others =
        [
            .. Enumerable.Range(0, 300).Select(i => new[] { 0 }.ForEachParallelAsync(
                async (_, token) => await gate.WaitAsync(token), new ParallelRunOptions { OperationName = $"{name} {new string('x', 300)} {i}" })),
        ];
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 2, "both items");
        await Console.Out.WriteLineAsync(UnderWay);
        await Console.In.ReadLineAsync();
        gate.Open();
        await Task.WhenAll([run, .. others]).WithinAsync("the runs");
    }

    private static ConsoleKeyInfo Key(ConsoleKey key) => new('\0', key, shift: false, alt: false, control: false);

    private static async Task<LoadResult> RunAsync(string[] arguments, TopHost? top = null, TextWriter? terminal = null, CancellationToken stop = default)
    {
        using StringWriter output = new();
        using StringWriter error = new();
        CliHost shared = new()
        {
            Name = WeirApp.Name, Out = terminal ?? output, Error = error, OutIsTerminal = terminal is not null, ErrorIsTerminal = false, Variable = static _ => null, Stop = stop,
        };
        int code = await WeirApp.RunAsync(["top", .. arguments], new WeirHost(shared) { Top = top ?? new TopHost { ReadKey = null } }).WithinAsync("top");
        return new LoadResult(code, output.ToString(), error.ToString());
    }

    private static Process StartChild(string name)
    {
        ProcessStartInfo start = new(
            Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet",
            ["exec", typeof(TopTests).Assembly.Location, "-noColor", "-method", $"{typeof(TopTests).FullName}.{nameof(InTheChild)}"])
        {
            RedirectStandardInput = true, RedirectStandardOutput = true,
        };
        start.Environment[Marker] = name;
        return Process.Start(start)!;
    }

    /// <summary>A server that answers as a page of Weir.Dashboard does when it is asked for JSON.</summary>
    private sealed class Page : IDisposable
    {
        private readonly HttpListener _listener = new();
        private int _answers;

        public Page()
        {
            // A port that was free a moment ago.
            using (System.Net.Sockets.TcpListener port = new(IPAddress.Loopback, 0))
            {
                port.Start();
                Address = $"http://127.0.0.1:{((IPEndPoint)port.LocalEndpoint).Port}/weir";
            }

            _listener.Prefixes.Add(Address + "/");
            _listener.Start();
            _ = AnswerAsync();
        }

        public string Address { get; }

        public int Answers => Volatile.Read(ref _answers);

        public void Dispose() => _listener.Close();

        private async Task AnswerAsync()
        {
            try
            {
                while (true)
                {
                    HttpListenerContext context = await _listener.GetContextAsync();
                    bool isPage = context.Request.Url!.AbsolutePath == "/weir" && context.Request.AcceptTypes is ["application/json"];
                    context.Response.StatusCode = isPage || context.Request.Url.AbsolutePath == "/weir/text" ? 200 : 404;
                    byte[] body = isPage ? Sample.ToJson() : "<html>no</html>"u8.ToArray();
                    await context.Response.OutputStream.WriteAsync(body);
                    context.Response.Close();
                    Interlocked.Increment(ref _answers);
                }
            }
            catch (Exception e) when (e is HttpListenerException or ObjectDisposedException or InvalidOperationException)
            {
                // It was closed.
            }
        }
    }
}
