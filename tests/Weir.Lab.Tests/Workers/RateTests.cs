using Weir.Lab.Tests.Support;
using Weir.Lab.Workers;

namespace Weir.Lab.Tests.Workers;

/// <summary>The rate of operations whose durations are known, on a clock that stands still.</summary>
public class RateTests
{
    private static readonly TimeSpan Window = TimeSpan.FromMilliseconds(50);

    [Theory]
    [InlineData(1, 1)]
    [InlineData(2, 3)]
    [InlineData(8, 7)]
    [InlineData(32, 11)]
    public void Rate_OfOperationsOfAnyLength_IsWorkersByDuration(int workers, int seed)
    {
        // From a microsecond to three windows, each length somewhat longer than the one before.
        Random random = new(seed);
        for (double nanoseconds = 1_000; nanoseconds <= 3 * Window.TotalNanoseconds; nanoseconds *= 1.3 + (0.4 * random.NextDouble()))
        {
            double length = nanoseconds;
            WindowOutcome outcome = SimulatedWindow.Run(Window, workers, WindowOutcome.BatchOf(length), (_, count) => count * length);

            Assert.InRange(outcome.Rate * length / 1e9 / workers, 0.99, 1.01);
            Assert.All(outcome.Workers(), static w => Assert.True(w.Operations >= 1));
            Assert.InRange(outcome.Groups()[0].Fairness.MinOverMax, 0.98, 1);
        }
    }

    [Theory]
    [InlineData(0.001)]
    [InlineData(0.3)]
    [InlineData(1)]
    [InlineData(3)]
    public void Rate_OfWorkersOfDifferentLengths_IsTheSumOfTheirRates(double windows)
    {
        // One of four is much slower than the others: what it does beyond the window takes nothing from them.
        double slow = windows * Window.TotalNanoseconds;
        WindowOutcome outcome = SimulatedWindow.Run(Window, 4, 1, (worker, _) => worker == 0 ? slow : 40_000);

        Assert.InRange(outcome.Rate / ((3 / 40e-6) + (1e9 / slow)), 0.99, 1.01);
        Assert.InRange(outcome.Workers()[0].Rate * slow / 1e9, 0.99, 1.01);
    }

    [Theory]
    [InlineData(0.02)]
    [InlineData(0.2)]
    [InlineData(0.6)]
    public void Rate_OfOperationsThatVary_IsWorkersByTheirMeanUpToTheBoundForAWorkerInStep(double windows)
    {
        // Half of them are a tenth as long as the others. Over many rounds, whose single rates vary as the operations do.
        const double variance = 9 * 9 / (11.0 * 11);
        Random random = new(5);
        double mean = windows * Window.TotalNanoseconds;
        double sum = 0;
        const int rounds = 400;
        const int workers = 16;
        for (int i = 0; i < rounds; i++)
        {
            sum += SimulatedWindow.Run(Window, workers, 1, (_, _) => mean * (random.Next(2) == 0 ? 2 / 11.0 : 20 / 11.0)).Rate;
        }

        Assert.InRange(sum / rounds * mean / 1e9 / workers, 0.98, 1.01 + (variance / 2 * windows));
    }

    [Fact]
    public void Rate_OfAWorkerThatRanOnlyAtTheEnd_CountsTheTimeInWhichItDidNot()
    {
        // As with a lock that others hold: its first operation in the window takes nearly all of it. Taken by its own part, it would be as fast as the others.
        bool waits = false;
        int calls = 0;
        double Duration(int worker, long count)
        {
            if (worker != 0)
            {
                return 20_000;
            }

            waits = ++calls == 3;
            return waits ? 0.9 * Window.TotalNanoseconds : 20_000;
        }

        WindowOutcome outcome = SimulatedWindow.Run(Window, 2, 1, Duration);

        Assert.InRange(outcome.Workers()[0].Rate, 0, 0.15 / 20e-6);
        Assert.InRange(outcome.Rate, 1 / 20e-6, 1.15 / 20e-6);
    }
}
