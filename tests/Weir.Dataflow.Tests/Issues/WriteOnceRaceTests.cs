namespace Weir.Dataflow.Tests.Issues;

/// <summary>dotnet/runtime 123432: a reader that races with the writer could see null.</summary>
public class WriteOnceRaceTests
{
    [Fact(Timeout = 30_000)]
    public async Task TryReceive_RacingWithPost_NeverSeesNull_123432()
    {
        for (int round = 0; round < 500; round++)
        {
            var block = new WriteOnceBlock<string>(null);
            using var start = new Barrier(2);
            Task<string?> reader = Task.Run<string?>(() =>
            {
                start.SignalAndWait();
                string? seen;
                while (!block.TryReceive(null, out seen))
                {
                }

                return seen;
            });
            start.SignalAndWait();
            block.Post("a");
            Assert.Equal("a", await reader);
        }
    }
}
