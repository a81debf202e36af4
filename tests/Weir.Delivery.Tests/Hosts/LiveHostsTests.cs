using Weir.Observability;
using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>What a snapshot says of hosts and queues.</summary>
public class LiveHostsTests
{
    private static readonly CancellationToken None = CancellationToken.None;

    [Fact(Timeout = 90_000)]
    public async Task HostAndQueue_AreSeen_AndLeadToTheirContents()
    {
        using Gate gate = new();
        await using MemoryWorkQueue<string> queue = new("snapshot.queue", WorkSerializer.Text);
        await using IWorkSink<string> sink = await queue.OpenSinkAsync(None);
        await sink.WriteAsync(WorkItem.CreateMany(["a", "b", "c"]), null, None);
        await using IWorkSource<string> source = await queue.OpenSourceAsync(None);
        await using ConcurrentRuntime runtime = new(1);
        TaskCompletionSource read = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using WorkGauges gauges = WorkGauges.Start(queue, new WorkGaugeOptions { OnReading = _ => read.TrySetResult() });
        using CancellationTokenSource stop = new();
        WorkHost<string> host = new(
            source, runtime, (_, token) => new ValueTask(gate.WaitAsync(token)),
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, OperationName = "snapshot.host" });
        Task running = host.RunAsync(stop.Token);
        await read.Task;
        LiveEntry seen = await EventuallyAsync("snapshot.host", static entry => entry.InFlight > 0);
        Assert.Equal((LiveKind.Host, LiveState.Running, 0), (seen.Kind, seen.State, seen.Queue!.DeadLetters));
        Assert.Same(queue.DeadLetters, WeirDiagnostics.Find<IDeadLetters>(seen.Id));

        LiveEntry waits = WeirDiagnostics.Snapshot().Entries.Single(static entry => entry is { Kind: LiveKind.Queue, Name: "snapshot.queue" });
        Assert.Equal(0, waits.Queue!.DeadLetters);
        Assert.Equal([LiveAction.DeadLetters], waits.Actions);
        Assert.Same(queue.DeadLetters, WeirDiagnostics.Find<IDeadLetters>(waits.Id));
        Assert.Null(WeirDiagnostics.Find<IQueuedItems>(waits.Id));

        gate.Open();
        queue.Complete();
        await running;
        Assert.DoesNotContain(WeirDiagnostics.Snapshot().Entries, static entry => entry is { Kind: LiveKind.Host, Name: "snapshot.host" });
    }

    private static async Task<LiveEntry> EventuallyAsync(string name, Func<LiveEntry, bool> holds)
    {
        while (true)
        {
            if (WeirDiagnostics.Snapshot().Entries.SingleOrDefault(entry => entry.Kind == LiveKind.Host && entry.Name == name) is { } entry && holds(entry))
            {
                return entry;
            }

            await Task.Yield();
        }
    }
}
