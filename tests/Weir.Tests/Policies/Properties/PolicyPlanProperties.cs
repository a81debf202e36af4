using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using Microsoft.FSharp.Core;

namespace Weir.Tests.Policies.Properties;

/// <summary>
/// Does every item get exactly one outcome, whatever fails, hangs or is cancelled under whatever policies? The seed is printed with a failure;
/// WEIR_SEED sets another one, WEIR_PLANS another number of runs, and
/// WEIR_SHRINK=1 looks for a simpler plan that fails.
/// </summary>
public class PolicyPlanProperties(ITestOutputHelper output)
{
    [Fact(Timeout = 300_000)]
    public Task Run_AnyPlanOfPolicies_AccountsForEveryItemOnceAndLeavesNothing() => Task.Run(() =>
    {
        ulong seed = (ulong)Number("WEIR_SEED", 20260101);
        output.WriteLine($"WEIR_SEED={seed}");
        Gen<PolicyPlan> some = Gen.Choose(0, int.MaxValue - 1).Select(PolicyPlan.From);

        // Each step towards a simpler plan that hangs takes as long as the guard waits, so they are only looked for on request.
        Arbitrary<PolicyPlan> plans = Number("WEIR_SHRINK", 0) > 0 ? Arb.From(some, PolicyPlan.Shrink) : Arb.From(some);
        Config config = Config.QuickThrowOnFailure
            .WithMaxTest(Number("WEIR_PLANS", 300))
            .WithReplay(FSharpOption<Replay>.Some(new Replay(new Rnd(seed), FSharpOption<int>.None)));
        Check.One($"seed {seed}", config, Prop.ForAll(plans, static (PolicyPlan plan) => PolicyPlanCheck.HoldsAsync(plan).GetAwaiter().GetResult()));
    });

    private static int Number(string name, int otherwise) =>
        int.TryParse(Environment.GetEnvironmentVariable(name), NumberStyles.Integer, CultureInfo.InvariantCulture, out int value) ? value : otherwise;
}
