namespace Weir.Docs.Tests;

/// <summary>Is each step of the tutorial a whole program, which prints what the page says?</summary>
[Collection(nameof(Console))]
public class TutorialTests
{
    /// <summary>Its page.</summary>
    public const string Page = "docs/tutorial.md";

    public static TheoryData<int> Steps() => [.. Enumerable.Range(1, DocPages.Examples(Page).Length)];

    [Theory(Timeout = 120_000)]
    [MemberData(nameof(Steps))]
    public async Task Step_ByItself_PrintsWhatThePageSays(int step)
    {
        (string code, string output) = DocPages.Programs(Page)[step - 1];
        PageProgram program = PageProgram.Whole($"{Page}, step {step}", code);
        string[] errors = program.Compile(out byte[] compiled);
        Assert.True(errors.Length == 0, string.Join('\n', errors));
        Assert.Empty(await program.WarningsAsync(TestContext.Current.CancellationToken));
        Assert.Equal(output, (await PageProgram.RunAsync(compiled, TimeSpan.FromMinutes(1))).ReplaceLineEndings("\n"));
    }

    [Fact]
    public void Steps_AreSix_EachWithItsOutput()
    {
        Assert.Equal(6, DocPages.Examples(Page).Length);
        Assert.Equal(DocPages.Examples(Page), DocPages.Programs(Page).Select(static p => p.Code));
    }
}
