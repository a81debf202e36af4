using System.Text.Json;
using Weir.Cli.Kit.Hosting;
using Weir.Cli.Tests.Support;
using Weir.Delivery;
using Weir.Delivery.Cli.Commands.Work.Execution;
using Weir.TestKit;

namespace Weir.Cli.Tests.Commands.Work;

/// <summary>The commands over queues, without a server.</summary>
public class WorkTests
{
    private const int Limit = 120_000;
    private const string Password = "s3cr3t-Of-Nobody";

    [Fact(Timeout = Limit)]
    public async Task Run_LinesOfTheInput_ArePrintedOnceEach()
    {
        CliUnderTest cli = new() { Input = "one\n\ntwo\r\nthree\n" };
        LoadResult result = await cli.RunAsync("weir-work run --queue memory: --input - --quiet");
        Assert.Equal((0, "one three two"), (result.ExitCode, string.Join(' ', result.Lines.Where(static l => l.Length > 0).Order(StringComparer.Ordinal))));
        Assert.Matches(@"^3 processed, 0 repeated, 0 dead letters, 0 returned; \d+\.\d s\s*$", result.Error);
    }

    [Fact(Timeout = Limit)]
    public async Task Run_Json_HasALineForEachItemAndOneAtTheEnd()
    {
        using TemporaryFile file = new("a:1\nb:2\na:3\n");
        LoadResult result = await new CliUnderTest().RunAsync(
            ["weir-work", "run", "--queue", "memory:", "--input", file.Path, "--key-separator", ":", "--origin", "numbers", "--ordered", "--json"]);
        JsonElement[] lines = [.. result.Lines.Where(static l => l.Length > 0).Select(static l => JsonDocument.Parse(l).RootElement)];
        Assert.Equal(0, result.ExitCode);
        Assert.Equal(4, lines.Length);
        Assert.Equal(["1", "3"], lines[..3].Where(static l => l.GetProperty("key").GetString() == "a").Select(static l => l.GetProperty("value").GetString()));
        Assert.Equal(
            ["numbers/0", "numbers/1", "numbers/2"], lines[..3].Select(static l => l.GetProperty("id").GetString()).Order(StringComparer.Ordinal));
        Assert.Equal(3, lines[3].GetProperty("processed").GetInt64());
    }

    [Fact(Timeout = Limit)]
    public async Task Run_Exec_FailedItemsAreRepeatedAndThenDeadLetters()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The command is one of a Unix shell.");
        CliUnderTest cli = new() { Input = "good\nbad\n" };
        LoadResult result = await cli.RunAsync(
            [
                "weir-work", "run", "--queue", "memory:", "--input", "-", "--attempts", "3", "--delay", "0s,1ms", "--json", "--shell", "--exec",
                "read -r x; echo \"$x $WEIR_ITEM_ATTEMPT\"; [ \"$x\" = good ]",
            ]);
        Assert.Equal(0, result.ExitCode);
        string[] lines = [.. result.Lines.Where(static l => l.Length > 0)];
        Assert.Equal(["bad 1", "bad 2", "bad 3", "good 1"], lines[..^1].Order(StringComparer.Ordinal));
        JsonElement end = JsonDocument.Parse(lines[^1]).RootElement;
        Assert.Equal(
            (1, 3, 2, 1),
            (end.GetProperty("processed").GetInt32(), end.GetProperty("failedAttempts").GetInt32(), end.GetProperty("redelivered").GetInt32(),
                end.GetProperty("deadLettered").GetInt32()));
    }

    [Fact(Timeout = Limit)]
    public async Task Run_ExecInBatches_OnlyThoseFailThatFailAlone()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The command is one of a Unix shell.");
        CliUnderTest cli = new() { Input = string.Concat(Enumerable.Range(0, 40).Select(static i => $"{i}\n")) };
        LoadResult result = await cli.RunAsync(
            [
                "weir-work", "run", "--queue", "memory:", "--input", "-", "--attempts", "1", "--batch", "20", "--max-concurrency", "2", "--json", "--shell",
                "--exec", "all=$(cat); case \" $(echo $all) \" in *' 7 '*) exit 3;; *) echo $all;; esac",
            ]);
        Assert.True(result.ExitCode == 0, result.Error);
        string[] lines = [.. result.Lines.Where(static l => l.Length > 0)];
        Assert.Equal(
            Enumerable.Range(0, 40).Where(static i => i != 7),
            lines[..^1].SelectMany(static l => l.Split(' ')).Select(static n => int.Parse(n, System.Globalization.CultureInfo.InvariantCulture)).Order());
        JsonElement end = JsonDocument.Parse(lines[^1]).RootElement;
        Assert.Equal((39, 1), (end.GetProperty("processed").GetInt32(), end.GetProperty("deadLettered").GetInt32()));
    }

    [Fact(Timeout = Limit)]
    public async Task Run_ItemExceedsItsTime_IsKilledAndFails()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The command is one of a Unix shell.");
        CliUnderTest cli = new() { Input = "x\n" };
        LoadResult result = await cli.RunAsync(
            ["weir-work", "run", "--queue", "memory:", "--input", "-", "--attempts", "1", "--timeout", "50ms", "--json", "--exec", "sleep 1000"]);
        Assert.True(result.ExitCode == 0, result.Error);
        Assert.Equal((0, 1), (result.Json.GetProperty("processed").GetInt32(), result.Json.GetProperty("deadLettered").GetInt32()));
    }

    [Fact(Timeout = Limit)]
    public async Task IdleSource_NothingComesForTheTime_EndsAndLosesNothing()
    {
        ManualTimeProvider clock = new();
        MemoryWorkQueue<string> queue = new("q", WorkSerializer.Text);
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await using IWorkSource<string> inner = await queue.OpenSourceAsync();
        await using IdleSource<string> source = new(inner, TimeSpan.FromSeconds(5), clock);
        await sink.WriteAsync([WorkItem.Create("a")], null, CancellationToken.None);
        Assert.Equal("a", (await source.ReadAsync(CancellationToken.None).WithinAsync())!.Items[0].Value);
        Task<WorkBatch<string>?> read = source.ReadAsync(CancellationToken.None).AsTask();
        clock.Advance(TimeSpan.FromSeconds(4.9));
        await Guard.SettleAsync();
        Assert.False(read.IsCompleted);
        clock.Advance(TimeSpan.FromSeconds(0.2));
        Assert.Null(await read.WithinAsync());
        await sink.WriteAsync([WorkItem.Create("b")], null, CancellationToken.None);
        Assert.Equal("b", (await inner.ReadAsync(CancellationToken.None).WithinAsync())!.Items[0].Value);
        using CancellationTokenSource stop = new();
        Task<WorkBatch<string>?> stopped = source.ReadAsync(stop.Token).AsTask();
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => stopped.WithinAsync());
    }

    [Theory(Timeout = Limit)]
    [InlineData("weir-work publish", "--queue or WEIR_QUEUE must say where the queue is: memory:, postgres://USER@HOST/DATABASE or amqp://USER@HOST/VHOST.")]
    [InlineData(
        "weir-work publish --queue memory:", "--queue memory: holds items only while one command runs, so 'weir-work publish' has nothing to do there: ")]
    [InlineData("weir-work dead list --queue memory:", "--queue memory: holds items only while one command runs, so 'weir-work dead list' has ")]
    [InlineData("weir-work run --queue memory:", "--queue memory: holds items only while one command runs, so 'weir-work run' has nothing to do there: ")]
    [InlineData(
        "weir-work run --queue nowhere:",
        "--queue must be memory:, postgres://USER@HOST/DATABASE or amqp://USER@HOST/VHOST; it is something else, "
            + "which is not shown because it may have a password.")]
    [InlineData("weir-work run --queue memory: --input /no/such/file", "FILE|--input must be a file that can be read, or - for the input (")]
    [InlineData("weir-work run --queue memory: --max-concurrency 0", "--max-concurrency must be a whole number from 1 to 10,000; it is '0'.")]
    [InlineData("weir-work run --queue memory: --attempts none", "--attempts must be a whole number from 1 to 1,000; it is 'none'.")]
    [InlineData("weir-work run --queue memory: --delay 1s,x", "--delay must be a time from 0 ns to ")]
    [InlineData("weir-work run --queue memory: --batch 5", "--batch and --shell need --exec, whose command they run.")]
    [InlineData("weir-work run --queue memory: --exec no-such-program-anywhere", "--exec: there is no program 'no-such-program-anywhere'.")]
    [InlineData("weir-work dead replay --queue Host=localhost", "Say which items to replay: their identities, or --all.")]
    public async Task Work_BadInput_OneSentenceAndExitCodeOne(string arguments, string sentence)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.StartsWith($"weir-work: {sentence.Split('|')[^1]}", result.Error, StringComparison.Ordinal);
        Assert.Single(result.Error.TrimEnd().Split('\n'));
    }

    [Theory(Timeout = Limit)]
    [InlineData("weir-work publish --queue postgres://ann:{0}@127.0.0.1:1/db")]
    [InlineData("weir-work publish --queue Host=127.0.0.1;Port=1;Username=ann;Password={0}")]
    [InlineData("weir-work run --queue postgres://ann:{0}@127.0.0.1:1/db?nonsense=1")]
    [InlineData("weir-work run --queue postgres://ann:{0}@127.0.0.1:port/db")]
    [InlineData("weir-work run --queue Host=127.0.0.1;Port=one;Password={0}")]
    [InlineData("weir-work run --queue Host=;Password={0}")]
    [InlineData("weir-work run --queue mysql://ann:{0}@127.0.0.1/db")]
    [InlineData("weir-work run postgres://ann:{0}@127.0.0.1:1/db")]
    [InlineData("weir-work run --queue memory: --name postgres://ann:{0}@127.0.0.1:1/db")]
    [InlineData("weir-work run --queue memory: --attempts Password={0}")]
    [InlineData("weir-work dead list --queue postgresql://ann:{0}@127.0.0.1:1/db")]
    [InlineData("weir-work dead show some/0 --queue postgresql://ann:{0}@127.0.0.1:1/db --json")]
    [InlineData("weir-work setup --queue postgresql://ann:{0}@127.0.0.1:1/db")]
    public async Task Work_AnyFailure_PrintsNoPassword(string arguments)
    {
        CliUnderTest cli = new() { Input = "x\n" };
        LoadResult result = await cli.RunAsync(arguments.Replace("{0}", Password, StringComparison.Ordinal));
        Assert.Equal(1, result.ExitCode);
        Assert.DoesNotContain(Password, result.Out + result.Error, StringComparison.Ordinal);
        Assert.Single(result.Error.TrimEnd().Split('\n'));
    }

    [Theory]
    [InlineData("a postgres://u:p@h/db b", "a postgres://***@h/db b")]
    [InlineData("at 'amqp://u:p@ss@h'", "at 'amqp://***@h'")]
    [InlineData("Host=h;Password=my own;Port=1", "Host=h;Password=***;Port=1")]
    [InlineData("pwd = 'a;b';Port=1", "pwd = ***;Port=1")]
    [InlineData("SSL Password=\"a;b\"", "SSL Password=***")]
    [InlineData("postgres://u@h:5432/db", "postgres://u@h:5432/db")]
    [InlineData("nothing here", "nothing here")]
    public void Hide_Passwords_AreGone(string text, string hidden) => Assert.Equal(hidden, Credentials.Hide(text));
}
