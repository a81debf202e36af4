namespace Weir.Samples.Tests;

/// <summary>The build step of the sample, run twice. It warms up for seconds, so it runs beside the other samples.</summary>
public class CheckedBaselineTests
{
    [Fact(Timeout = 120_000, Explicit = true)]
    public async Task CheckedBaseline_TwoRuns_SaveAndCheck()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The step is a script for bash.");
        using TemporaryFolder folder = new();
        string[] arguments = [SampleProgram.Assembly("CheckedBaseline"), folder.File("store"), "--rounds", "2", "--duration", "50ms"];
        (string Output, string Errors, int Code) saved = await CheckAsync(arguments);

        // A machine that is too busy is an answer: nothing is saved then.
        Assert.Contains(saved.Code, new[] { 0, 3 });
        Assert.Equal(saved.Code == 0, Directory.Exists(folder.File("store")));
        (string Output, string Errors, int Code) isChecked = await CheckAsync(arguments);
        Assert.True(isChecked.Code is 0 or 2 or 3, isChecked.Output + isChecked.Errors);
        if (saved.Code == 0 && isChecked.Code != 3)
        {
            Assert.Matches("FASTER|SLOWER|EQUIVALENT|INCONCLUSIVE", isChecked.Output);
        }
    }

    private static async Task<(string Output, string Errors, int Code)> CheckAsync(string[] arguments)
    {
        await using SampleProgram program = SampleProgram.StartScript("CheckedBaseline/check.sh", arguments);
        return await program.EndAsync();
    }
}
