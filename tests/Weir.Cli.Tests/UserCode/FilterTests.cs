using Weir.Cli.Tests.Support;
using Weir.Cli.Workloads.UserCode;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.UserCode;

/// <summary>Methods that a pattern selects.</summary>
public class FilterTests
{
    private const string Code = """
        namespace N;
        public sealed class Parsing : IDisposable
        {
            public int ParseShort() => 1;
            public int ParseLong() => 2;
            public int Write() => 3;
            public int ParseOf(string text) => text.Length;
            internal int ParseInside() => 4;
            public void Dispose() { }
        }
        """;

    [Theory]
    [InlineData("*.Parse*", "N.Parsing.ParseLong N.Parsing.ParseShort")]
    [InlineData("*parse?hort", "N.Parsing.ParseShort")]
    [InlineData("*", "N.Parsing.ParseLong N.Parsing.ParseShort N.Parsing.Write")]
    [InlineData("Parse", "")]
    public void Matching_APattern_HasPublicMethodsThatCanBeMeasured(string pattern, string names)
    {
        using TemporaryDirectory directory = new();
        UserAssembly assembly = UserAssembly.Load(CompiledCode.Write(directory.Path, "Parsing", Code));

        Assert.Equal(names, string.Join(' ', assembly.Matching(pattern)));
    }

    [Fact(Timeout = 300_000)]
    public async Task Compare_TwoBuildsWithAFilter_GivesEachMethodThatBothHaveItsOwnVerdict()
    {
        using TemporaryDirectory directory = new();
        string before = CompiledCode.Write(directory.File("before"), "Parsing", Code);
        string after =
            CompiledCode.Write(directory.File("after"), "Parsing", Code.Replace("public int Write()", "public int ParseNew()", StringComparison.Ordinal));

        LoadResult ran = await new CliUnderTest().RunAsync(
            $"compare --assembly {before} --against {after} --filter *.Parse* --workers 1 --rounds 2 --processes 2 --duration 10ms --json");

        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.Equal(["ParseLong (before)", "ParseLong (after)", "ParseShort (before)", "ParseShort (after)"], result.Arms.Select(static a => a.Name));
        Assert.All(result.Comparisons, static c => Assert.Equal(c.Against, c.Arm.Replace("(after)", "(before)", StringComparison.Ordinal)));
        Assert.Contains(result.Findings, static f => f.Text == "Not compared, because only one of the two builds has them: N.Parsing.ParseNew.");
    }

    [Theory(Timeout = 300_000)]
    [InlineData("run --filter *x*", "--filter is used with --assembly or --git, instead of --method: --assembly X.dll --filter '*Parse*'.")]
    [InlineData("run --assembly DLL --method N.Parsing.Write --filter *x*",
        "--filter is used with --assembly or --git, instead of --method: --assembly X.dll --filter '*Parse*'.")]
    [InlineData(
        "run --assembly DLL --filter *Nothing*", "--filter '*Nothing*' matches nothing measurable in 'Parsing.dll'; the nearest are N.Parsing.")]
    [InlineData("compare --assembly DLL --against DLL --filter *Nothing*", "--filter '*Nothing*' matches nothing measurable in ")]
    public async Task Filter_BadInput_IsOneClearLine(string arguments, string message)
    {
        using TemporaryDirectory directory = new();

        LoadResult ran =
            await new CliUnderTest().RunAsync(arguments.Replace("DLL", CompiledCode.Write(directory.Path, "Parsing", Code), StringComparison.Ordinal));

        Assert.Equal(1, ran.ExitCode);
        Assert.StartsWith($"weir: {message}", ran.Error, StringComparison.Ordinal);
    }
}
