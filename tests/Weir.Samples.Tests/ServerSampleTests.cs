[assembly: AssemblyFixture(typeof(SharedServers))]

namespace Weir.Samples.Tests;

/// <summary>The programs of the folder samples that need servers. Where there are none, their tests are skipped and say why.</summary>
public class ServerSampleTests(SampleServers servers) : IClassFixture<SampleServers>
{
    private const int Patience = 120_000;

    [Fact(Timeout = Patience)]
    public async Task ChangesToIndex_ChangesOfATable_AreInTheIndex()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The sample starts its servers with a script for bash.");
        Assert.SkipWhen(servers.Postgres is null || servers.Rabbit is null, servers.Reason);
        await using SampleProgram program = SampleProgram.StartScript("ChangesToIndex/run.sh", "dotnet", SampleProgram.Assembly("ChangesToIndex"));
        await program.LineAsync("200 products from the snapshot");
        await program.LineAsync("650 products in the table and in the index, all the same");
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 0, output + errors);
        Assert.Contains("lamp: 200, blue: 200, green: 0", output, StringComparison.Ordinal);
    }

    [Fact(Timeout = Patience)]
    public async Task CsvToPostgres_BadLines_CopiesTheOthers()
    {
        Assert.SkipWhen(servers.Postgres is null, servers.Reason);
        using TemporaryFolder folder = new();
        await File.WriteAllLinesAsync(
            folder.File("orders.csv"),
            ["id,customer,amount", .. Enumerable.Range(1, 2_500).Select(static n => n == 1_234 ? "1234,nobody" : $"{n},somebody,{n}.50")],
            TestContext.Current.CancellationToken);
        await using SampleProgram program = SampleProgram.Start("CsvToPostgres", folder.File("orders.csv"), servers.Postgres);
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 0, output + errors);
        Assert.Matches(@"^2499 rows in \d+ batches, 1 bad lines; the table has 2499 rows$", output);
        Assert.Contains("line 1235: ", errors, StringComparison.Ordinal);
    }
}
