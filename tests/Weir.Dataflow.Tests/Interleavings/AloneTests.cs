using Weir.Dataflow.Cores;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>
/// A block with two workers, of which one works alone because all calls count as short: what a call does then that needs another one. The limits are of the
/// process, so other tests meet lone workers meanwhile as well; it makes no difference to them.
/// </summary>
[Collection(nameof(AloneTests))]
public sealed class AloneTests : IDisposable
{
    private const int Limit = Eventually.Limit;

    private readonly long _short = ParallelState.ShortTicks;
    private readonly long _long = ParallelState.LongTicks;

    public AloneTests() => ParallelState.ShortTicks = ParallelState.LongTicks = long.MaxValue;

    public void Dispose() => (ParallelState.ShortTicks, ParallelState.LongTicks) = (_short, _long);

    [Fact(Timeout = Limit)]
    public async Task Call_BlocksWhileAlone_IsJoinedByOneMore()
    {
        using var gate = new Probes.Gate();
        ParallelState? state = null;
        var block = new ActionBlock<int>(
            _ =>
            {
                if (Lone.Is(state) || gate.Arrived > 0)
                {
                    gate.Pass();
                }
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        state = Lone.StateOf(block);
        Lone.PostUntil(block, () => gate.Arrived > 0);
        Lone.LeaveSomething(block);
        gate.AwaitArrivals(2);
        Never.True(() => gate.Arrived > 2);
        gate.Open();
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.Equal(0, state.Busy);
    }

    [Fact(Timeout = Limit)]
    public async Task Call_BlocksAndSoDoesTheSchedulerOfAnotherBlock_IsJoinedByOneMore()
    {
        const int Degree = 8;
        using var gate = new Probes.Gate();
        var scheduler = new GatedScheduler(gate);
        ParallelState? state = null;
        int armed = 0;
        int alone = 0;
        ActionBlock<int>? other = null;
        bool Decided() => Volatile.Read(ref alone) != 0 || Volatile.Read(ref armed) == 0;
        other = new ActionBlock<int>(
            _ =>
            {
                if (Volatile.Read(ref armed) != 0)
                {
                    Eventually.True(Decided);
                    if (Volatile.Read(ref alone) != 0)
                    {
                        gate.Pass();
                    }
                }
                else if (Lone.Is(state) && Interlocked.Exchange(ref armed, 1) == 0)
                {
                    // Nobody else does a message from here on, so that somebody who has come before cannot leave nothing to do while this thread is held up.
                    if (state is { Busy: 1, Standby: 0 } && other!.InputCount > Degree)
                    {
                        // From here on only the watch brings another worker, for the messages that are left: nothing more is posted.
                        scheduler.Hold();
                        Volatile.Write(ref alone, 1);
                        gate.Pass();
                    }
                    else
                    {
                        Volatile.Write(ref armed, 0);
                    }
                }
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = Degree, TaskScheduler = scheduler });
        state = Lone.StateOf(other);
        Lone.PostUntil(other, () => Volatile.Read(ref alone) != 0);
        Eventually.True(() => scheduler.Held > 0, "The watch brought nobody.");
        await Lone.CallLasts(degree: 2);
        Assert.InRange(scheduler.Held, 1, Degree);
        gate.Open();
        other.Complete();
        await Eventually.Done(other.Completion);
        Assert.Equal(0, state.Busy);
    }

    [Fact(Timeout = Limit)]
    public async Task Call_ReturnsPendingTaskWhileAlone_IsJoinedByOneMore()
    {
        var pending = new TaskCompletionSource();
        int started = 0;
        ParallelState? state = null;
        var block = new ActionBlock<int>(
            _ =>
            {
                if (!Lone.Is(state) && Volatile.Read(ref started) == 0)
                {
                    return Task.CompletedTask;
                }

                Interlocked.Increment(ref started);
                return pending.Task;
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        state = Lone.StateOf(block);
        Lone.PostUntil(block, () => Volatile.Read(ref started) > 0);
        Lone.LeaveSomething(block);
        Eventually.Equal(2, () => Volatile.Read(ref started));
        Never.True(() => Volatile.Read(ref started) > 2);
        pending.SetResult();
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.Equal(0, state.Busy);
    }

    [Fact(Timeout = Limit)]
    public async Task Calls_AllPending_NobodyLeads()
    {
        // The calls return on the test's thread, so that each is pending before it is done: one that is done before it has returned may lead.
        const int Count = 200;
        var scheduler = new ManualScheduler();
        var pending = new ConcurrentQueue<TaskCompletionSource>();
        ParallelState? state = null;
        int led = 0;
        var block = new ActionBlock<int>(
            _ =>
            {
                Interlocked.Add(ref led, Lone.Is(state) ? 1 : 0);
                var call = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                pending.Enqueue(call);
                return call.Task;
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2, TaskScheduler = scheduler });
        state = Lone.StateOf(block);
        Assert.All(Enumerable.Range(0, Count), i => Assert.True(block.Post(i)));
        for (int i = 0; i < Count; i++)
        {
            TaskCompletionSource? call = null;
            Eventually.True(() =>
            {
                scheduler.RunAll();
                return pending.TryDequeue(out call);
            });
            call!.SetResult();
        }

        block.Complete();
        Eventually.True(() =>
        {
            scheduler.RunAll();
            return block.Completion.IsCompleted;
        });
        await block.Completion;
        Assert.Equal(0, led);
    }

    [Fact(Timeout = Limit)]
    public async Task Call_ThrowsWhileAlone_FaultsTheBlock()
    {
        int thrown = 0;
        ParallelState? state = null;
        var block = new TransformBlock<int, int>(
            i => Lone.Is(state) && Interlocked.Increment(ref thrown) > 0 ? throw new InvalidOperationException("No.") : i,
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        state = Lone.StateOf(block);
        Lone.PostUntil(block, () => Volatile.Read(ref thrown) > 0);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.Equal("No.", block.Completion.Exception!.InnerException!.Message);
        Eventually.Equal(0, () => state.Busy);
        Assert.Equal(0, block.InputCount);
    }
}
