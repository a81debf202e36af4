using Weir.Cli.Commands.Doctor;
using Weir.Cli.Tests.Report.Page;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Doctor;

public class DoctorTests
{
    private static readonly int[] FineOrDoubtful = [0, 4];

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Doctor_Exports_HaveEverythingThatWasLookedAt()
    {
        using TemporaryDirectory directory = new();

        LoadResult result = await new CliUnderTest().RunAsync($"doctor --json --quiet --strict --export md,csv,html,hgrm --out {directory.Path}");

        Assert.Contains(result.ExitCode, FineOrDoubtful);
        ResultFile looked = ResultJson.Parse(result.Out, "output");
        Assert.Superset(new HashSet<string> { "build", "processors", "timer tick", "clock", "canary", "noise floor (A/A)", "page cache", "depth of reads" },
            looked.Settings.Keys.ToHashSet());
        Assert.Equal(["A", "B"], looked.Arms.Select(static a => a.Name));
        Assert.Equal(looked.Has(FindingLevel.Doubt) ? 4 : 0, result.ExitCode);
        Assert.Equal(
            ["weir-doctor-A-x1-service.hgrm", "weir-doctor-B-x1-service.hgrm", "weir-doctor.csv", "weir-doctor.html", "weir-doctor.md"],
            Directory.EnumerateFiles(directory.Path).Select(Path.GetFileName).Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Result_DoubtfulCheck_IsAFinding()
    {
        ResultFile result = DoctorCommand.Result(
            [new Check("timer tick", "4 ms", FindingLevel.Doubt, "Use another"), new Check("clock", "20 ns", FindingLevel.Note)],
            SampleResults.Scaling() with { Findings = [] });

        Assert.Equal("4 ms", result.Settings["timer tick"]);
        Assert.Equal("20 ns", result.Settings["clock"]);
        Finding finding = Assert.Single(result.Findings);
        Assert.Equal((FindingLevel.Doubt, "timer tick: 4 ms. Use another."), (finding.Level, finding.Text));
    }
}
