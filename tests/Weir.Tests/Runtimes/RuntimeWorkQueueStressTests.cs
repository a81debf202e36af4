using System.Collections.Concurrent;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>Random work over queues that fill themselves, ended at random and continued by other runtimes: every item begins once.</summary>
public sealed class RuntimeWorkQueueStressTests
{
    private static readonly string[] Names = ["direct", "concurrent", "parallel", "auto"];

    public static TheoryData<int> Seeds => [.. Enumerable.Range(1, 12)];

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Seeds))]
    public async Task Queue_ContinuedByOneRuntimeAfterTheOther_LosesNothing(int seed)
    {
        Random random = new(seed);
        for (int round = 0; round < 12; round++)
        {
            WorkQueue<int> queue = new(order: (WorkQueueOrder)random.Next(2));
            int last = random.Next(4);
            int most = 1 + random.Next(600);
            queue.AddRange(Enumerable.Range(0, last + 1));
            ConcurrentQueue<int> begun = [];
            List<string> plan = [];
            for (int run = 0; !queue.IsCompleted; run++)
            {
                string name = $"{Names[random.Next(Names.Length)]} {1 + random.Next(random.Next(2) == 0 ? 3 : 50)}";
                bool endsByItself = run > 5;
                (QueueDeed deed, int children) = (QueueDeed)random.Next(6) is var d && d == QueueDeed.Blocks && random.Next(4) > 0
                    ? (QueueDeed.Nothing, random.Next(4))
                    : (d, random.Next(4));
                int endAfter = endsByItself ? int.MaxValue : random.Next(most);
                int ending = random.Next(4);
                RunForm form = (RunForm)random.Next(3);
                plan.Add($"{name} {form} {deed} {children} {ending}@{endAfter}");
                RunControl control = new();
                using CancellationTokenSource cancel = new();
                int calls = 0;
                await using IExecutionRuntime runtime = RuntimeCases.Create(name);
                Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
                    form,
                    runtime,
                    queue,
                    (item, _) =>
                    {
                        begun.Enqueue(item);
                        if (Interlocked.Increment(ref calls) == endAfter)
                        {
                            End(ending, control, cancel);
                        }

                        return QueueDeeds.RunAsync(deed, item, () =>
                        {
                            for (int child = 0; child < children && Volatile.Read(ref last) < most; child++)
                            {
                                queue.Add(Interlocked.Increment(ref last));
                            }
                        });
                    },
                    new ProcessManyOptions { Control = control, PerItemTimeout = random.Next(3) == 0 ? TimeSpan.FromMinutes(5) : null },
                    keyed: random.Next(3) == 0,
                    most: ending == 2 && !endsByItself ? 1 + random.Next(most) : int.MaxValue,
                    cancellationToken: cancel.Token);
                try
                {
                    await call.WithinAsync(string.Join(", ", plan));
                }
                catch (OperationCanceledException) when (cancel.IsCancellationRequested)
                {
                }

                Assert.Equal(0, queue.Running);
                Assert.True(queue.Count + begun.Count == Volatile.Read(ref last) + 1, string.Join(", ", plan));
            }

            begun.AssertOnce(last + 1);
            queue.AssertEnded();
        }
    }

    private static void End(int ending, RunControl control, CancellationTokenSource cancel)
    {
        if (ending == 0)
        {
            cancel.Cancel();
        }
        else if (ending == 1)
        {
            control.Stop();
        }
    }
}
