using Weir.Lab.Trials;
using Weir.Lab.Work;

namespace Weir.Lab.Suites.Auto;

/// <summary>A kind of work: how many items a call has, what is done for each, and what must come out.</summary>
/// <param name="Name">The name on the page.</param>
/// <param name="Text">What an item does.</param>
/// <param name="Goal">The least share of the best fixed runtime's pace.</param>
/// <param name="Count">Items of a call.</param>
/// <param name="Waits">Whether so many items wait that the direct runtime is not worth its minutes.</param>
/// <param name="Call">The work of an item.</param>
/// <param name="Expect">The result of an item.</param>
internal sealed record AutoWork(
    string Name, string Text, double Goal, int Count, bool Waits, ItemCall Call, Func<int, int> Expect)
{
    private const int TailOneIn = 100;

    /// <summary>The items of a call.</summary>
    public int[] Items { get; } = [.. Enumerable.Range(0, Count)];

    /// <summary>What the results of a call must come to.</summary>
    public PassResult Expected
    {
        get
        {
            long sum = 0;
            for (int item = 0; item < Count; item++)
            {
                sum = unchecked(sum + (Expect(item) * ((2L * item) + 1)));
            }

            return new PassResult(Count, sum);
        }
    }

    /// <summary>All kinds of work, with the steps of one speed and the waits of some threads.</summary>
    /// <param name="stepsPerSecond">How many steps of computing this machine does in a second.</param>
    /// <param name="short">Waits of 1 ms.</param>
    /// <param name="long">Waits of 10 ms.</param>
    public static IReadOnlyList<AutoWork> All(double stepsPerSecond, WaitThread @short, WaitThread @long)
    {
        CalibratedSpin one = CalibratedSpin.Of(TimeSpan.FromMicroseconds(1), stepsPerSecond);
        CalibratedSpin ten = CalibratedSpin.Of(TimeSpan.FromMicroseconds(10), stepsPerSecond);
        CalibratedSpin hundred = CalibratedSpin.Of(TimeSpan.FromMicroseconds(100), stepsPerSecond);
        CalibratedSpin thousand = CalibratedSpin.Of(TimeSpan.FromMilliseconds(1), stepsPerSecond);
        return
        [
            new AutoWork("noop", "gives the item back", 0.9, 500_000, false, static (item, _) => new ValueTask<int>(item), static item => item),
            Computes("cpu-1us", "computes for 1 us", 50_000, one),
            Computes("cpu-10us", "computes for 10 us", 5_000, ten),
            Computes("cpu-100us", "computes for 100 us", 500, hundred),
            Waiting("io-1ms", "waits for 1 ms", 2_000, @short),
            Waiting("io-10ms", "waits for 10 ms", 1_000, @long),
            new AutoWork(
                "mixed",
                "one half, by chance, computes for 10 us; the other waits for 1 ms",
                1.0,
                4_000,
                true,
                (item, token) => IsPicked(item, 2) ? new ValueTask<int>(ten.Run(item)) : WaitAsync(@short, item, token),
                item => IsPicked(item, 2) ? ten.Expect(item) : item),
            new AutoWork(
                "heavy-tail",
                "computes for 10 us; one item in 100, by chance, for 1 ms",
                0.9,
                2_500,
                false,
                (item, _) => new ValueTask<int>(IsPicked(item, TailOneIn) ? thousand.Run(item) : ten.Run(item)),
                item => IsPicked(item, TailOneIn) ? thousand.Expect(item) : ten.Expect(item)),
        ];
    }

    private static AutoWork Computes(string name, string text, int count, CalibratedSpin spin) =>
        new(name, text, 0.9, count, false, (item, _) => new ValueTask<int>(spin.Run(item)), spin.Expect);

    private static AutoWork Waiting(string name, string text, int count, WaitThread waits) =>
        new(name, text, 0.9, count, true, (item, token) => WaitAsync(waits, item, token), static item => item);

    private static async ValueTask<int> WaitAsync(WaitThread waits, int item, CancellationToken cancellationToken)
    {
        await waits.WaitAsync(cancellationToken);
        return item;
    }

    // The same items each time, scattered: a bijection whose every output bit depends on every input bit.
    private static bool IsPicked(int item, uint oneIn)
    {
        unchecked
        {
            uint value = (uint)item + 0x9E3779B9;
            value ^= value >> 16;
            value *= 0x7feb352d;
            value ^= value >> 15;
            value *= 0x846ca68b;
            value ^= value >> 16;
            return value % oneIn == 0;
        }
    }
}
