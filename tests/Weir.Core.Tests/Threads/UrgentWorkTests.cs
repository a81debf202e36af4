using Weir.Core.Threads;
using Weir.TestKit;

namespace Weir.Core.Tests.Threads;

public class UrgentWorkTests
{
    [Fact]
    public async Task Queue_Often_RunsEachOnce()
    {
        const int Count = 2000;
        int[] runs = new int[Count];
        using CountdownEvent left = new(Count);
        for (int i = 0; i < Count; i++)
        {
            UrgentWork.Queue(new Work(i, runs, left));
        }

        await Guard.UntilAsync(() => left.IsSet, "all work");
        await Guard.PauseAsync();
        Assert.All(runs, static count => Assert.Equal(1, count));
    }

    private sealed class Work(int index, int[] runs, CountdownEvent left) : IThreadPoolWorkItem
    {
        public void Execute()
        {
            Interlocked.Increment(ref runs[index]);
            left.Signal();
        }
    }
}
