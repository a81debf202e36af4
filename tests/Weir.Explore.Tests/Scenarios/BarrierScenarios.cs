using Weir.Core.Dispatch;
using Weir.Dataflow.Sync;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Protocols in which one side has a process-wide barrier, and the other none: stores are seen late.</summary>
public class BarrierScenarios(ITestOutputHelper output)
{
    /// <summary>Who enters the lock of a block so often owns it, and others take it away by the barrier.</summary>
    private const int OftenEnough = 130;

    private static readonly ExploreOptions Buffers = new() { StoreBuffers = true };

    [Fact]
    public void Lock_OfABlock_TakenFromItsOwner_HasOneInside() => output.Explored(
        static async () =>
        {
            Counter counter = new();
            for (int i = 0; i < OftenEnough; i++)
            {
                counter.Add();
            }

            Task adding = Task.Run(counter.Add);
            counter.Add();
            await adding;
            Assert.Equal(OftenEnough + 2, counter.Value);
        },
        Buffers);

    [Fact]
    public void WakeUp_OfAWorkerThatGoesIdle_IsNotLost() => output.Explored(
        static async () =>
        {
            int sum = 0;
            Weir.Dataflow.ActionBlock<int> block = new(item => { sum += item; });
            for (int i = 0; i < OftenEnough; i++)
            {
                Assert.Equal(0, block.InputCount);
            }

            block.Post(1);
            block.Post(2);
            block.Complete();
            await block.Completion;
            Assert.Equal(3, sum);
        },
        Buffers);

    [Fact]
    public void Room_FreedByAWorker_IsSeenByWhoWaits() => output.Explored(
        static async () =>
        {
            const int Capacity = 16;
            int sum = 0;
            Weir.Dataflow.ActionBlock<int> block = new(
                _ => { sum++; }, new System.Threading.Tasks.Dataflow.ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });
            for (int i = 0; i < Capacity; i++)
            {
                Assert.True(block.Post(i));
            }

            Assert.True(await block.SendAsync(0));
            block.Complete();
            await block.Completion;
            Assert.Equal(Capacity + 1, sum);
        },
        Buffers);

    [Fact]
    public void Item_GivenUpAsItEnds_HasOneOutcome() => output.Explored(
        static async () =>
        {
            ItemGuard guard = new();
            long inCall = guard.Begin();
            Task<bool> ending = Task.Run(() => guard.TryEndCall(inCall));
            bool isGivenUp = guard.TryAbandon(inCall);
            Assert.NotEqual(isGivenUp, await ending);
        },
        Buffers);

    private sealed class Counter
    {
        private BiasedLock _lock;
        private volatile int _value;

        public int Value => _value;

        public void Add()
        {
            LockOwner? key = _lock.Enter();
            _value++;
            _lock.Exit(key);
        }
    }
}
