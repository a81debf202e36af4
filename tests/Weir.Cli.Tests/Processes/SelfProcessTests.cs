using Weir.Cli.Processes;

namespace Weir.Cli.Tests.Processes;

public class SelfProcessTests
{
    [Fact(Timeout = 120_000)]
    public async Task RunAsync_StoppedBeforeTheChildSaysAnything_EndsIt()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The child that says nothing needs sh.");
        List<string> said = [];

        // A child that starts for longer than anybody waits. The pipe's name, which comes last, is the shell's $0.
        await SelfProcess.RunAsync(
            ["time", "--", "sh", "-c", "sleep 100000"], order: "", said.Add, said.Add, variables: null, words: null, new CancellationToken(canceled: true));

        Assert.Empty(said);
    }
}
