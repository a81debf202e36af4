namespace Weir.Tests.Docs;

public class OptionsPageTests
{
    [Fact]
    public void OptionsPage_EachPropertyOfTheOptions_HasARow()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "reference", "operators", "options.md"));
        Assert.All(
            typeof(ParallelRunOptions).GetProperties().Where(static p => p.GetMethod!.IsPublic).Select(static p => p.Name),
            name => Assert.Contains($"`{name}`", page, StringComparison.Ordinal));
    }
}
