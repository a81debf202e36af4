using Weir.Dataflow.Tests.Blocks;

namespace Weir.Dataflow.Tests.Stress;

/// <summary>Do random networks deliver each message once, in order where promised, and end?</summary>
public abstract class NetworkStress<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Fact(Timeout = 1_200_000)]
    public async Task RandomNetworks_EveryEnding_DeliverOnceAndEnd()
    {
        int rounds = 0;
        foreach (int seed in StressSettings.Rounds())
        {
            rounds++;
            using var network = new RandomNetwork(seed, Blocks);
            try
            {
                await network.Run();
            }
            catch (Exception e)
            {
                Assert.Fail($"WEIR_SEED={seed} (round {rounds}): {network}\n{e}");
            }
        }

        TestContext.Current.SendDiagnosticMessage("{0}: {1} networks from seed {2}", typeof(TBlocks).Name, rounds, StressSettings.Seed);
        Assert.NotEqual(0, rounds);
    }
}
