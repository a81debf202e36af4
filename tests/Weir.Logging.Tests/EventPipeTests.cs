using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Threading.Tasks.Dataflow;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;

namespace Weir.Logging.Tests;

/// <summary>What a tool outside the process sees that attaches to it late, as dotnet-counters does.</summary>
public sealed class EventPipeTests
{
    private const string Marker = "WEIR_TESTS_WATCHED_NAME";
    private const string UnderWay = "all is under way";
    private const long TimeSeriesValues = 0x2;

    [Fact(Timeout = 120_000)]
    public async Task Counters_OfRunsAndBlocksUnderWay_AreSeenFromOutside()
    {
        string name = $"outside.{Guid.NewGuid():N}";
        using Process child = StartChild(name);
        try
        {
            while (await child.StandardOutput.ReadLineAsync().WithinAsync("the child") is { } line && !line.Contains(UnderWay, StringComparison.Ordinal))
            {
            }

            Dictionary<string, double> expected = new()
            {
                [$"weir.blocks.active {name}.calls"] = 1,
                [$"weir.block.received {name}.calls"] = 5,
                [$"weir.block.in_flight {name}.calls"] = 2,
                [$"weir.block.queued {name}.calls input"] = 3,
                [$"weir.block.messages {name}.results succeeded"] = 4,
                [$"weir.block.queued {name}.results output"] = 4,
                [$"weir.runs.active {name}.run"] = 1,
                [$"weir.items.active {name}.run"] = 2,
            };
            Assert.Equal(expected, await ReadAsync(child.Id, expected));
            await child.StandardInput.WriteLineAsync("end").WithinAsync("the child's input");
            child.StandardInput.Close();
            string rest = await child.StandardOutput.ReadToEndAsync().WithinAsync("the child's output");
            await child.WaitForExitAsync().WithinAsync("the child's end");
            Assert.True(child.ExitCode == 0, rest);
            Assert.Contains("Total: 1, Errors: 0, Failed: 0", rest, StringComparison.Ordinal);
        }
        finally
        {
            if (!child.HasExited)
            {
                child.Kill();
            }
        }
    }

    /// <summary>What the child does, until a line comes.</summary>
    [Fact(Timeout = 120_000)]
    public async Task InTheChild()
    {
        if (Environment.GetEnvironmentVariable(Marker) is not { } name)
        {
            return;
        }

        using Gate gate = new();
        int inside = 0;
        Dataflow.ActionBlock<int> calls = new(
            async _ => await EnterAsync(), new ExecutionDataflowBlockOptions { NameFormat = name + ".calls", MaxDegreeOfParallelism = 2 });
        Dataflow.TransformBlock<int, int> results = new(static x => x, new ExecutionDataflowBlockOptions { NameFormat = name + ".results" });
        Assert.All([1, 2, 3, 4, 5], x => Assert.True(calls.Post(x)));
        Assert.All([1, 2, 3, 4], x => Assert.True(results.Post(x)));
        Task run = new[] { 1, 2, 3 }.ForEachParallelAsync(
            async (_, _) => await EnterAsync(), new ParallelRunOptions { OperationName = name + ".run", MaxDegreeOfParallelism = 2 });
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 4 && results.OutputCount == 4, "the calls");
        await Console.Out.WriteLineAsync(UnderWay);
        await Console.In.ReadLineAsync().WithinAsync("the parent's line");
        gate.Open();
        await run.WithinAsync("the run");
        calls.Complete();
        await calls.Completion.WithinAsync("the block");

        async Task EnterAsync()
        {
            Interlocked.Increment(ref inside);
            await gate.WaitAsync(CancellationToken.None);
        }
    }

    private static Process StartChild(string name)
    {
        string assembly = typeof(EventPipeTests).Assembly.Location;
        ProcessStartInfo start = new(
            Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet",
            ["exec", assembly, "-noColor", "-method", $"{typeof(EventPipeTests).FullName}.{nameof(InTheChild)}"])
        {
            RedirectStandardInput = true, RedirectStandardOutput = true,
        };
        start.Environment[Marker] = name;
        return Process.Start(start)!;
    }

    /// <summary>Reads the counters until each has its value, and returns what they had last.</summary>
    private static async Task<Dictionary<string, double>> ReadAsync(int process, Dictionary<string, double> expected)
    {
        Dictionary<string, string> arguments = new()
        {
            ["SessionId"] = Guid.NewGuid().ToString(),
            ["Metrics"] = "Weir",
            ["RefreshInterval"] = "1",
            ["MaxTimeSeries"] = "1000",
            ["MaxHistograms"] = "10",
        };
        using EventPipeSession session = new DiagnosticsClient(process).StartEventPipeSession(
            [new EventPipeProvider("System.Diagnostics.Metrics", EventLevel.Informational, TimeSeriesValues, arguments)], requestRundown: false);
        using EventPipeEventSource source = new(session.EventStream);
        TaskCompletionSource all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Dictionary<string, double> seen = [];
        source.Dynamic.All += counter =>
        {
            if (counter.EventName is "UpDownCounterRateValuePublished" or "CounterRateValuePublished")
            {
                string text = (string)counter.PayloadByName("tags");
                Dictionary<string, string> tags = text.Split(',').Select(static t => t.Split('=', 2)).Where(static t => t.Length == 2)
                    .ToDictionary(static t => t[0], static t => t[1]);
                string key = string.Join(' ', new[]
                {
                    (string)counter.PayloadByName("instrumentName"),
                    tags.GetValueOrDefault("weir.block.name") ?? tags.GetValueOrDefault("weir.operation.name"),
                    tags.GetValueOrDefault("weir.block.queue") ?? tags.GetValueOrDefault("weir.outcome"),
                }.OfType<string>());
                if (expected.ContainsKey(key))
                {
                    seen[key] = double.Parse((string)counter.PayloadByName("value"), System.Globalization.CultureInfo.InvariantCulture);
                    if (seen.Count == expected.Count && expected.All(e => seen[e.Key] == e.Value))
                    {
                        all.TrySetResult();
                    }
                }
            }
        };
        Task processing = Task.Run(source.Process);
        await all.Task.WithinAsync("the counters");
        await session.StopAsync(CancellationToken.None).WithinAsync("the session");
        await processing.WithinAsync("the events");
        return seen;
    }
}
