using System.Text.Json;
using System.Text.RegularExpressions;
using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Report.Page;
using Weir.Lab.Report.Page.Figures;
using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Tables and flame graph of planted samples.</summary>
public partial class ProfileReportTests
{
    private static readonly ProfileRecord Planted = new()
    {
        Seconds = 1,
        Stacks = [new("N.C.Run;N.C.Hot", 60), new("N.C.Run", 10), new("N.C.Run;N.C.Again;N.C.Again", 20), new("(the lab's loop)", 10)],
        Allocations =
            [new("System.Byte[]", 9, 900_000), new("N.Very.Long.Names.Of.Namespaces.That.Nobody.Would.Want.To.Read.In.A.Terminal.List<T>", 1, 100_000)],
    };

    [Fact]
    public void Methods_OfStacks_CountARecursionOnceAndBeginWithTheHottest() => Assert.Equal(
        [new("N.C.Hot", 60, 60), new("N.C.Again", 20, 20), new("N.C.Run", 10, 90), new("(the lab's loop)", 10, 10)],
        Planted.Methods());

    [Fact]
    public void Layout_OfStacks_PutsCalledBelowCallerTheWidestLeft() => Assert.Equal(
        [
            new("N.C.Run", 0, 0, 90), new("N.C.Hot", 1, 0, 60), new("N.C.Again", 1, 60, 20), new("N.C.Again", 2, 60, 20),
            new("(the lab's loop)", 0, 90, 10),
        ],
        FlameLayout.Of(Planted.Stacks));

    [Theory]
    [InlineData("N.C.Hot", 20, "N.C.Hot")]
    [InlineData("N.C.Hot", 6, "C.Hot")]
    [InlineData("N.C.Hot", 3, "C.…")]
    [InlineData("N.List`1[System.Int32].Add", 24, "List`1[System.Int32].Add")]
    [InlineData("N.C.Hot", 0, "")]
    public void Fitting_AName_KeepsWhatTellsMost(string name, int most, string expected) => Assert.Equal(expected, FlameGraph.Fitting(name, most));

    [Fact]
    public void Tables_InATerminal_FitEightyColumns()
    {
        using StringWriter output = new();
        foreach (Table table in ProfileTables.All(Result()))
        {
            TableText.Write(table, output, new TextStyle(80));
        }

        Assert.All(output.ToString().Split(Environment.NewLine), static line => Assert.InRange(line.Length, 0, 80));
        Assert.Matches(@"N\.C\.Hot +60\.0 % +60\.0 %", output.ToString());
        Assert.Matches(@"System\.Byte\[\] +90\.0 %", output.ToString());
        Assert.Contains("sampled, one in about 100 KB", output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void Page_OfAProfile_HasARectangleWithATitleForEachFrame()
    {
        string page = HtmlPage.Write([Result()]);

        Assert.Equal(FlameLayout.Of(Planted.Stacks).Count, Rectangle().Count(page));
        Assert.Contains("<title>N.C.Hot: 60.0 %, 60 samples</title>", page, StringComparison.Ordinal);
        Assert.Contains("id=\"profile-1\"", page, StringComparison.Ordinal);
        Assert.DoesNotContain("id=\"profile-1\"", HtmlPage.Write([SampleResults.Single()]), StringComparison.Ordinal);
    }

    [Fact]
    public void Json_OfAProfile_IsReadAsItWasWritten()
    {
        ProfileRecord read = ResultJson.Parse(ResultJson.Write(Result()), "f").Arms[0].Profile!;

        Assert.Equal(Planted.Stacks, read.Stacks);
        Assert.Equal(Planted.Allocations, read.Allocations);
        Assert.DoesNotContain("\"profile\"", ResultJson.Write(SampleResults.Single()), StringComparison.Ordinal);
    }

    [Fact]
    public void Speedscope_OfAProfile_HasFramesStacksAndWeights()
    {
        (string file, string text) = Assert.Single(ProfileFiles.Of(Result(), "weir-run"));

        Assert.EndsWith(".speedscope.json", file, StringComparison.Ordinal);
        using JsonDocument json = JsonDocument.Parse(text);
        string[] frames =
            [.. json.RootElement.GetProperty("shared").GetProperty("frames").EnumerateArray().Select(static f => f.GetProperty("name").GetString()!)];
        JsonElement work = json.RootElement.GetProperty("profiles")[0];
        Assert.Equal("sampled", work.GetProperty("type").GetString());
        Assert.Equal(100, work.GetProperty("endValue").GetInt32());
        Assert.Equal([60, 10, 20, 10], work.GetProperty("weights").EnumerateArray().Select(static w => w.GetInt32()));
        Assert.Equal(["N.C.Run", "N.C.Hot"], work.GetProperty("samples")[0].EnumerateArray().Select(i => frames[i.GetInt32()]));
    }

    // What its published schema asks for, and what the program itself relies on: indices of frames that exist, and a weight for each sample.
    [Fact]
    public void Speedscope_OfAProfile_IsAFileOfItsFormat()
    {
        using JsonDocument json = JsonDocument.Parse(Assert.Single(ProfileFiles.Of(Result(), "weir-run")).Text);
        JsonElement root = json.RootElement;
        Assert.Equal("https://www.speedscope.app/file-format-schema.json", root.GetProperty("$schema").GetString());
        int frames = root.GetProperty("shared").GetProperty("frames").GetArrayLength();
        Assert.Equal(2, root.GetProperty("profiles").GetArrayLength());
        Assert.All(root.GetProperty("profiles").EnumerateArray(), profile =>
        {
            Assert.Equal("sampled", profile.GetProperty("type").GetString());
            Assert.NotEmpty(profile.GetProperty("name").GetString()!);
            Assert.Contains(profile.GetProperty("unit").GetString(), (string[])["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]);
            int[] weights = [.. profile.GetProperty("weights").EnumerateArray().Select(static w => w.GetInt32())];
            Assert.Equal(weights.Sum(), profile.GetProperty("endValue").GetInt32() - profile.GetProperty("startValue").GetInt32());
            Assert.Equal(weights.Length, profile.GetProperty("samples").GetArrayLength());
            Assert.All(
                profile.GetProperty("samples").EnumerateArray().SelectMany(static s => s.EnumerateArray()), i => Assert.InRange(i.GetInt32(), 0, frames - 1));
        });
    }

    internal static ResultFile Result() => SampleResults.Single().With(new Dictionary<int, ProfileRecord> { [0] = Planted });

    [GeneratedRegex("<g class=\"s[0-7]\"><title>[^<]+</title><rect ")]
    private static partial Regex Rectangle();
}
