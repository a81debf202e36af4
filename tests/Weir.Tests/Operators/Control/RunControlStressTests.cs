using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Control;

/// <summary>Orders at random moments, from a thread of their own, while a run goes on: every item once, and an end.</summary>
public sealed class RunControlStressTests
{
    private static readonly SourceKind[] Kinds = [SourceKind.Array, SourceKind.Collection, SourceKind.Lazy, SourceKind.AsyncSuspending, SourceKind.Channel];

    public static MatrixTheoryData<OperatorFamily, int> Grid { get; } = new(Cases.Families, [1, 2, 3, 4]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Grid))]
    public async Task Orders_AtRandomMoments_LoseAndDoubleNothing(OperatorFamily family, int seed)
    {
        const int items = 400;
        foreach (SourceKind kind in Kinds)
        {
            RunControl control = new();
            ConcurrentDictionary<int, int> attempts = [];
            async ValueTask<int> CallAsync(int item, CancellationToken token)
            {
                int attempt = attempts.AddOrUpdate(item, 1, static (_, count) => count + 1);
                if (item % 3 == 1)
                {
                    await Task.Yield();
                }

                return item % 7 == 0 && attempt == 1 ? throw new TimeoutException() : item;
            }

            Task<List<int>> run = family.RunAsync(
                TestSource.Of(kind, items),
                CallAsync,
                new ParallelRunOptions { MaxDegreeOfParallelism = 4, MaxRetries = 1, BaseDelay = TimeSpan.Zero, ChannelCapacity = 3, Control = control });
            Random random = new(seed);
            bool stops = seed % 2 == 0;
            Task orders = Task.Run(
                async () =>
                {
                    for (int i = 0; i < 200 && !run.IsCompleted; i++)
                    {
                        switch (random.Next(4))
                        {
                            case 0:
                                control.Pause();
                                break;
                            case 1:
                                control.MaxDegreeOfParallelism = random.Next(5) is var limit and > 0 ? limit : null;
                                break;
                            default:
                                control.Resume();
                                break;
                        }

                        if (random.Next(3) == 0)
                        {
                            await Task.Yield();
                        }
                    }

                    if (stops)
                    {
                        control.Stop();
                    }

                    control.Resume();
                },
                CancellationToken.None);
            List<int> results = await run.WithinAsync($"{kind}, seed {seed}");
            await orders.WithinAsync();
            Assert.Equal(results.Count, results.Distinct().Count());
            Assert.Equal(attempts.Keys.Order(), results.Order());
            Assert.True(stops || results.Count == items);
            Assert.All(attempts, static pair => Assert.Equal(pair.Key % 7 == 0 ? 2 : 1, pair.Value));
            RunControlSnapshot end = control.Snapshot();
            Assert.Equal((0, (long)results.Count, (long)results.Count), (end.RunningRuns, end.Started, end.Succeeded));
        }
    }
}
