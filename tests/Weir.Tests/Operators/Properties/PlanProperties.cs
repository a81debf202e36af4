using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using Microsoft.FSharp.Core;

namespace Weir.Tests.Operators.Properties;

/// <summary>
/// Does everything hold for runs that nobody thought of? The seed is printed with a failure; WEIR_SEED sets another one, and WEIR_STRESS=seconds
/// makes the stress run longer.
/// </summary>
public class PlanProperties(ITestOutputHelper output)
{
    private const int Runs = 400;

    [Fact(Timeout = 300_000)]
    public Task Run_AnyPlan_KeepsWhatIsPromised() => Task.Run(() =>
    {
        ulong seed = (ulong)Seed();
        output.WriteLine($"WEIR_SEED={seed}");
        Arbitrary<RandomPlan> plans = Arb.From(Gen.Choose(0, int.MaxValue - 1).Select(RandomPlan.From), RandomPlan.Shrink);
        Config config = Config.QuickThrowOnFailure
            .WithMaxTest(Runs)
            .WithReplay(FSharpOption<Replay>.Some(new Replay(new Rnd(seed), FSharpOption<int>.None)));
        Check.One($"seed {seed}", config, Prop.ForAll(plans, static (RandomPlan plan) => PlanCheck.HoldsAsync(plan).GetAwaiter().GetResult()));
    });

    [Fact(Timeout = System.Threading.Timeout.Infinite)]
    public async Task Run_ManyPlansAtOnce_KeepsWhatIsPromised()
    {
        TimeSpan length = TimeSpan.FromSeconds(Number("WEIR_STRESS", 1));
        int first = Seed();
        output.WriteLine($"WEIR_SEED={first}");
        long start = TimeProvider.System.GetTimestamp();
        int next = first;
        await Task.WhenAll(Enumerable.Range(0, 3).Select(_ => Task.Run(async () =>
        {
            while (TimeProvider.System.GetElapsedTime(start) < length)
            {
                int seed = Interlocked.Increment(ref next);
                RandomPlan plan = RandomPlan.From(seed);
                try
                {
                    await PlanCheck.HoldsAsync(plan);
                }
                catch (Exception e)
                {
                    throw new InvalidOperationException($"WEIR_SEED={seed - 1}: {plan}", e);
                }
            }
        })));
        output.WriteLine($"{next - first} runs");
    }

    private static int Seed() => Number("WEIR_SEED", 20260101);

    private static int Number(string name, int otherwise) =>
        int.TryParse(Environment.GetEnvironmentVariable(name), NumberStyles.Integer, CultureInfo.InvariantCulture, out int value) ? value : otherwise;
}
