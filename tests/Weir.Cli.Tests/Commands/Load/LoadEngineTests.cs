using System.Text.Json;
using Weir.Cli.Tests.Support;
using Weir.Delivery;

namespace Weir.Cli.Tests.Commands.Load;

/// <summary>Runs over the queue in memory, from the command line to its report.</summary>
public sealed class LoadEngineTests
{
    private const int Limit = 60_000;

    [Theory(Timeout = Limit)]
    [InlineData("", "service")]
    [InlineData("--rate 100000/s", "response")]
    public async Task Memory_ListOfSizes_HasAnArmForEachAndLosesNothing(string load, string latency)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"weir-audit load --engine memory --items-per-message 1,7 --count 200 --trials 2 --json {load}");
        Assert.True(result.ExitCode == 0, result.Error);
        JsonElement[] arms = [.. result.Json.GetProperty("arms").EnumerateArray()];
        Assert.Equal(["memory items=1", "memory items=7"], arms.Select(static a => a.GetProperty("name").GetString()));
        Assert.All(arms.SelectMany(static a => a.GetProperty("rounds").EnumerateArray()), round =>
        {
            Assert.Equal((200, 0, 0), (Number(round, "operations"), Number(round, "duplicates"), Number(round, "lost")));
            Assert.True(round.TryGetProperty(latency, out _));
        });
        Assert.Equal(load.Length == 0 ? "closed" : "open", result.Json.GetProperty("settings").GetProperty("loop").GetString());
        Assert.All(
            result.Json.GetProperty("summary").EnumerateArray(),
            s => Assert.All(s.GetProperty("latency").EnumerateArray(), l => Assert.Equal(400, Number(l, "count"))));
    }

    [Fact(Timeout = Limit)]
    public async Task Memory_Text_SaysWhatIsMeasuredAndExportsAllForms()
    {
        using TemporaryDirectory folder = new();
        LoadResult result = await new CliUnderTest().RunAsync(
            "weir-audit load --engine memory --items-per-message 4 --count 200 --trials 1 --consumers 1 --ordered --export md,csv,json,html,hgrm --out "
                + folder.Path);
        Assert.True(result.ExitCode == 0, result.Error);
        string row = Assert.Single(result.Lines, static line =>
            line.Contains("memory items=4", StringComparison.Ordinal) && line.Contains('[', StringComparison.Ordinal));
        string[] cells = row.Split("  ", StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        Assert.Equal(["0", "0", "0"], cells[^4..^1]);
        Assert.Contains("closed load: from the call that publishes", result.Out, StringComparison.Ordinal);
        Assert.Contains("round 1 of 1: memory items=4", result.Error, StringComparison.Ordinal);
        foreach (string file in (string[])["weir-load.md", "weir-load.csv", "weir-load.json", "weir-load.html"])
        {
            string text = await File.ReadAllTextAsync(Path.Combine(folder.Path, file), TestContext.Current.CancellationToken);
            Assert.Contains("duplicates", text, StringComparison.Ordinal);
        }

        Assert.Single(Directory.GetFiles(folder.Path, "*.hgrm"));
    }

    [Fact(Timeout = Limit)]
    public async Task Memory_DeliveredTwice_IsCountedAndAllowed()
    {
        // One key in order: the second delivery is processed before anything else, so before the pass can end.
        CliUnderTest cli = new() { WrapSource = static source => new FirstTwice(source) };
        LoadResult result = await cli.RunAsync(
            "weir-audit load --engine memory --items-per-message 5 --count 100 --trials 1 --warmup 0 --consumers 1 --publishers 1 --keys 1 --ordered --json");
        Assert.True(result.ExitCode == 0, result.Error);
        JsonElement round = OnlyRound(result);
        Assert.Equal((100, 5, 0), (Number(round, "operations"), Number(round, "duplicates"), Number(round, "lost")));
    }

    [Fact(Timeout = Limit)]
    public async Task Memory_Lost_IsReportedAndInvalid()
    {
        CliUnderTest cli = new() { WrapSource = static source => new FirstDropped(source) };
        LoadResult result = await cli.RunAsync(
            "weir-audit load --engine memory --items-per-message 5 --count 100 --trials 1 --warmup 0 --consumers 1 --patience 300ms --json");
        Assert.Equal(3, result.ExitCode);
        JsonElement round = OnlyRound(result);
        int lost = Number(round, "lost");
        Assert.InRange(lost, 5, 100);
        Assert.Equal(100 - lost, Number(round, "operations"));
        Assert.Contains(
            $"memory items=5: {lost} items were published and not done when nothing had been acknowledged for 300 ms: lost, or ",
            result.Error,
            StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Memory_Stopped_IsPartial()
    {
        CliUnderTest cli = new() { StopsAt = "round 2 of" };
        LoadResult result = await cli.RunAsync("weir-audit load --engine memory --items-per-message 1 --count 100 --trials 1000");
        Assert.Equal(130, result.ExitCode);
        Assert.Equal("true", result.Value("partial"));
        Assert.Contains("memory items=1", result.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Consumer_Fails_EndsTheRunWithItsReason()
    {
        CliUnderTest cli = new() { WrapSource = static source => new Broken(source) };
        LoadResult result = await cli.RunAsync("weir-audit load --engine memory --items-per-message 1 --count 100 --trials 1");
        Assert.Equal(1, result.ExitCode);
        Assert.Contains(
            "weir-audit: memory failed in the queue of memory items=1, after 0 items were done: the queue was not set up.\n",
            result.Error,
            StringComparison.Ordinal);
    }

    private static JsonElement OnlyRound(LoadResult result) =>
        Assert.Single(Assert.Single(result.Json.GetProperty("arms").EnumerateArray()).GetProperty("rounds").EnumerateArray());

    private static int Number(JsonElement element, string name) => element.GetProperty(name).GetInt32();

    /// <summary>Passes everything on; the tests change one thing of it each.</summary>
    private class Passing(IWorkSource<string> inner) : IWorkSource<string>
    {
        public string Name => inner.Name;

        public AcknowledgementOrder Order => inner.Order;

        public IRedelivery<string>? Redelivery => inner.Redelivery;

        public virtual ValueTask<WorkBatch<string>?> ReadAsync(CancellationToken cancellationToken) => inner.ReadAsync(cancellationToken);

        public virtual ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<string>> batches, CancellationToken cancellationToken) =>
            inner.AcknowledgeAsync(batches, cancellationToken);

        public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<string>> batches, CancellationToken cancellationToken) =>
            inner.ReturnAsync(batches, cancellationToken);

        public ValueTask DisposeAsync() => inner.DisposeAsync();
    }

    /// <summary>Delivers the first batch again.</summary>
    private sealed class FirstTwice(IWorkSource<string> inner) : Passing(inner)
    {
        private WorkBatch<string>? _again;
        private bool _isDone;

        public override async ValueTask<WorkBatch<string>?> ReadAsync(CancellationToken cancellationToken)
        {
            if (_again is { } again && !_isDone)
            {
                _isDone = true;
                return again;
            }

            WorkBatch<string>? batch = await base.ReadAsync(cancellationToken);
            _again ??= new WorkBatch<string>(batch!.Items, "again");
            return batch;
        }

        public override ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<string>> batches, CancellationToken cancellationToken) =>
            base.AcknowledgeAsync([.. batches.Where(b => b != _again)], cancellationToken);
    }

    /// <summary>Acknowledges the first batch, and delivers it to nobody.</summary>
    private sealed class FirstDropped(IWorkSource<string> inner) : Passing(inner)
    {
        private bool _isDone;

        public override async ValueTask<WorkBatch<string>?> ReadAsync(CancellationToken cancellationToken)
        {
            WorkBatch<string>? batch = await base.ReadAsync(cancellationToken);
            if (_isDone)
            {
                return batch;
            }

            _isDone = true;
            await AcknowledgeAsync([batch!], cancellationToken);
            return await base.ReadAsync(cancellationToken);
        }
    }

    /// <summary>Cannot be read.</summary>
    private sealed class Broken(IWorkSource<string> inner) : Passing(inner)
    {
        public override ValueTask<WorkBatch<string>?> ReadAsync(CancellationToken cancellationToken) =>
            throw new WorkSetupException("the queue was not set up");
    }
}
