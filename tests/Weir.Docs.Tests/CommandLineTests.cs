namespace Weir.Docs.Tests;

/// <summary>Is every command line of README and docs one that its program understands? Nothing is run.</summary>
public class CommandLineTests
{
    public static TheoryData<string> Pages() => [.. DocPages.All().Where(static p => DocPages.Commands(p).Any())];

    [Theory]
    [MemberData(nameof(Pages))]
    public void Page_Commands_AreUnderstood(string page) =>
        Assert.All(DocPages.Commands(page), static command => Assert.Empty(CommandLines.Errors(command.Program, command.Line)));

    [Theory]
    [InlineData("weir", "run lock --worker 8")]
    [InlineData("eng/bench", "--filter '*NoSuch*'")]
    [InlineData("weir", "bench --filter '*Core*'")]
    [InlineData("eng/bench", "--filter '*CoreYield*' --jobs short")]
    [InlineData("weir-audit", "load --engine memory --consumer 2")]
    [InlineData("eng/tables", "ratio")]
    public void Errors_OfALineThatIsWrong_AreFound(string program, string line) => Assert.NotEmpty(CommandLines.Errors(program, line));

    [Fact]
    public void Pages_CommandLines_AreFound() => Assert.InRange(DocPages.All().Sum(static p => DocPages.Commands(p).Count()), 60, int.MaxValue);

    [Fact]
    public void Words_OfALine_AreThoseOfAShell()
    {
        Assert.Equal(["run", "--command", "./old --fast", "--x"], CommandLines.Words("run --command './old --fast' --x   # a comment"));
        Assert.Equal(["a", "b#c", ""], CommandLines.Words("a b#c ''"));
    }
}
