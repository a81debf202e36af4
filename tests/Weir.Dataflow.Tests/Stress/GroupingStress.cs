using Weir.Dataflow.Tests.Blocks;

namespace Weir.Dataflow.Tests.Stress;

/// <summary>Do blocks that put messages together lose or double any, whatever ends at whatever moment?</summary>
public abstract class GroupingStress<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Fact(Timeout = 1_200_000)]
    public async Task RandomGroups_EveryEnding_LoseAndDoubleNothing()
    {
        int rounds = 0;
        foreach (int seed in StressSettings.Rounds())
        {
            rounds++;
            RandomGroups groups = new(seed, Blocks);
            try
            {
                await groups.Run();
            }
            catch (Exception e)
            {
                Assert.Fail($"WEIR_SEED={seed} (round {rounds}): {groups}\n{e}");
            }
        }

        TestContext.Current.SendDiagnosticMessage("{0}: {1} grouping blocks from seed {2}", typeof(TBlocks).Name, rounds, StressSettings.Seed);
        Assert.NotEqual(0, rounds);
    }
}
