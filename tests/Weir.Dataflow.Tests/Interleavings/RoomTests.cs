#if DEBUG
using Weir.Dataflow.Sync;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>A worker that gives room back without the lock, and somebody who begins to wait for it, in every order of their steps.</summary>
[Collection(nameof(Steps))]
public class RoomTests
{
    private const int Limit = Eventually.Limit;
    private const int Capacity = 16;

    /// <summary>C: the worker counts the room. A: it asks whether anybody waits. W: the sender says that it waits. L: it looks at the count again.</summary>
    [Theory(Timeout = Limit)]
    [InlineData("CAWL")]
    [InlineData("CWAL")]
    [InlineData("CWLA")]
    [InlineData("WCAL")]
    [InlineData("WCLA")]
    [InlineData("WLCA")]
    public async Task SendWhileRoomComes_EveryOrder_IsAccepted(string order)
    {
        using var worker = new Turns(Step.CountedRoom);
        using var sender = new Turns(Step.SaidWaiting);
        using var calls = new SemaphoreSlim(0);
        int done = 0;
        var block = new ActionBlock<int>(
            _ =>
            {
                calls.Wait(Eventually.Patience * 2);
                Interlocked.Increment(ref done);
            },
            new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });
        Task<bool>? sent = null;
        Steps.Passing = (step, who) =>
        {
            if (ReferenceEquals(who, block))
            {
                (step == Step.CountedRoom ? worker : sender).Pass(step);
            }
        };

        try
        {
            for (int i = 0; i < Capacity; i++)
            {
                Assert.True(block.Post(i));
            }

            Assert.False(block.Post(-1));
            Task sending = Task.CompletedTask;
            foreach (char step in order)
            {
                switch (step)
                {
                    case 'C':
                        calls.Release();
                        worker.Await(Step.CountedRoom);
                        break;
                    case 'A':
                        worker.Release();
                        break;
                    case 'W' when !order.StartsWith('C'):
                        sending = Task.Factory.StartNew(
                            () => sent = block.SendAsync(Capacity), default, TaskCreationOptions.LongRunning, TaskScheduler.Default);
                        sender.Await(Step.SaidWaiting);
                        break;
                    case 'W':
                        // The room is counted already, so that nobody has to wait for it.
                        sending = Task.Factory.StartNew(
                            () => sent = block.SendAsync(Capacity), default, TaskCreationOptions.LongRunning, TaskScheduler.Default);
                        break;
                    default:
                        sender.Release();
                        break;
                }
            }

            // The worker is in the next call, which the test has not let go: no further room comes.
            worker.Open();
            sender.Open();
            await Eventually.Done(sending);
            Assert.True(await Eventually.Result(sent!));
            Assert.Equal(1, Volatile.Read(ref done));
            calls.Release(Capacity);
            block.Complete();
            await Eventually.Done(block.Completion);
            Assert.Equal(Capacity + 1, done);
        }
        finally
        {
            Steps.Passing = null;
            worker.Open();
            sender.Open();
            calls.Release(Capacity);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task SendFoundNoRoom_RoomComesBeforeItSaysThatItWaits_IsAccepted()
    {
        using var sender = new Turns(Step.FoundFull);
        using var calls = new SemaphoreSlim(0);
        int begun = 0;
        var block = new ActionBlock<int>(
            _ =>
            {
                Interlocked.Increment(ref begun);
                calls.Wait(Eventually.Patience * 2);
            },
            new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });
        Steps.Passing = (step, who) =>
        {
            if (ReferenceEquals(who, block))
            {
                sender.Pass(step);
            }
        };

        try
        {
            for (int i = 0; i < Capacity; i++)
            {
                Assert.True(block.Post(i));
            }

            Task<bool>? sent = null;
            Task sending = Task.Factory.StartNew(() => sent = block.SendAsync(Capacity), default, TaskCreationOptions.LongRunning, TaskScheduler.Default);
            sender.Await(Step.FoundFull);
            calls.Release();
            // In its next call the worker has counted the room, and asked whether anybody waits.
            Eventually.True(() => Volatile.Read(ref begun) == 2);
            sender.Open();
            await Eventually.Done(sending);
            Assert.True(await Eventually.Result(sent!));
            Assert.Equal(2, Volatile.Read(ref begun));
        }
        finally
        {
            Steps.Passing = null;
            sender.Open();
            calls.Release(Capacity + 1);
        }
    }
}
#endif
