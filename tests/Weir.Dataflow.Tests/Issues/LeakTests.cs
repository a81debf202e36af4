using System.Reflection;
using System.Runtime.CompilerServices;
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>dotnet/runtime 99564, 101907: what waits leave behind; and that nothing needs a finalizer.</summary>
public class LeakTests
{
    [Fact(Timeout = Eventually.Limit)]
    public async Task Waits_ThatEnded_LeaveNothingOnTheToken_99564_101907()
    {
        using var cancel = new CancellationTokenSource();
        WeakReference[] waits = await Wait(cancel.Token);
        Collected(waits);
        Assert.False(cancel.IsCancellationRequested);
    }

    [Fact]
    public void Blocks_ThatEnded_LeaveNothingOnTheToken()
    {
        using var cancel = new CancellationTokenSource();
        WeakReference[] blocks = [.. Kinds.Everything.Select(k => Ended(k, cancel.Token))];
        Collected(blocks);
        Assert.False(cancel.IsCancellationRequested);
    }

    [Fact]
    public void Types_All_HaveNoFinalizer()
    {
        Type[] types = typeof(BufferBlock<>).Assembly.GetTypes();
        const BindingFlags Own = BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.DeclaredOnly;
        Assert.DoesNotContain(types, static t => t.GetMethod("Finalize", Own, []) is not null);
    }

    [Fact]
    public void Post_NothingLinked_QueuesNoWork()
    {
        var scheduler = new ManualScheduler();
        var buffer = new BufferBlock<int>(new DataflowBlockOptions { TaskScheduler = scheduler });
        var batch = new BatchBlock<int>(1, new GroupingDataflowBlockOptions { TaskScheduler = scheduler });
        var join = new JoinBlock<int, int>(new GroupingDataflowBlockOptions { TaskScheduler = scheduler });
        for (int i = 0; i < 10; i++)
        {
            buffer.Post(i);
            batch.Post(i);
            join.Target1.Post(i);
            join.Target2.Post(i);
        }

        Assert.Equal(0, scheduler.Queued);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Block_ThatEndedAndLivesOn_HoldsNoWaiterTargetOrMessage()
    {
        var block = new BufferBlock<object>(new DataflowBlockOptions { BoundedCapacity = 1 });
        WeakReference[] left = await UseAndEnd(block);
        Collected(left);
        GC.KeepAlive(block);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task<WeakReference[]> UseAndEnd(BufferBlock<object> block)
    {
        var left = new List<WeakReference>();
        for (int i = 0; i < 20; i++)
        {
            var message = new object();
            Task<object> received = block.ReceiveAsync();
            Task<bool> sent = block.SendAsync(message);
            await Eventually.Done(received);
            await Eventually.Done(sent);

            // Not the task of the sender: all that are accepted at once share one.
            left.AddRange([new(message), new(received)]);
        }

        // The waiters that the end finds.
        Task<object> never = block.ReceiveAsync();
        Task<bool> nothing = block.OutputAvailableAsync();
        var target = new ActionBlock<object>(static _ => { });
        left.AddRange([new(never), new(nothing), new(target)]);
        block.LinkTo(target, new DataflowLinkOptions { PropagateCompletion = true });
        block.Complete();
        await Eventually.Done(block.Completion);
        await Eventually.Done(target.Completion);
        await Assert.ThrowsAsync<InvalidOperationException>(() => never);
        Assert.False(await nothing);
        return [.. left];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task<WeakReference[]> Wait(CancellationToken token)
    {
        var block = new BufferBlock<int>();
        var waits = new List<WeakReference>();
        for (int i = 0; i < 20; i++)
        {
            Task<int> received = block.ReceiveAsync(token);
            Task<bool> available = block.OutputAvailableAsync(token);
            waits.Add(new WeakReference(received));
            waits.Add(new WeakReference(available));
            block.Post(i);
            await Eventually.Done(received);
            block.Post(i);
            await Eventually.Done(available);
            Assert.True(block.TryReceive(out _));
        }

        waits.Add(new WeakReference(block));
        return [.. waits];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference Ended(BlockKind kind, CancellationToken token)
    {
        Subject subject = new WeirBlocks().Create(kind, new BlockSettings { Token = token });
        subject.Block.Complete();
        Eventually.True(() => subject.Completion.IsCompleted);
        return new WeakReference(subject.Block);
    }

    private static void Collected(WeakReference[] references) => Eventually.True(
        () =>
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            // The last one or two may still be in a register or on a pool thread's stack.
            return references.Count(static r => r.IsAlive) <= 2;
        },
        "The token keeps what has ended.");
}
