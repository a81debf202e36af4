using Weir.Cli.Kit.Hosting;
using Weir.Cli.Kit.Options;
using Weir.Cli.Kit.Processes;

namespace Weir.Cli.Tests.Programs;

public class CommandWordsTests
{
    [Theory]
    [InlineData("sleep 0.1", new[] { "sleep", "0.1" })]
    [InlineData("  a\t b  ", new[] { "a", "b" })]
    [InlineData("grep 'a b' \"c d\"", new[] { "grep", "a b", "c d" })]
    [InlineData("a '' \"\"", new[] { "a", "", "" })]
    [InlineData("a'b'\"c\"d", new[] { "abcd" })]
    [InlineData("a 'x|y$z\"*' \"p|q'*\"", new[] { "a", "x|y$z\"*", "p|q'*" })]
    public void Split_OfACommand_TakesItApartAsAShellDoes(string text, string[] words) =>
        Assert.Equal(words, CommandWords.Split(new OptionValue("COMMAND", text)));

    [Theory]
    [InlineData("a\\ b c", new[] { "a b", "c" })]
    [InlineData("\"a\\\"b\\c\"", new[] { "a\"b\\c" })]
    [InlineData("'a\\b'", new[] { "a\\b" })]
    public void Split_Backslashes_EscapeWhereAShellWould(string text, string[] words)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "They are a part of paths there.");
        Assert.Equal(words, CommandWords.Split(new OptionValue("COMMAND", text)));
    }

    [Theory]
    [InlineData("", "a program and its arguments, such as")]
    [InlineData("'' x", "a program and its arguments, such as")]
    [InlineData("a 'b", "every quote closed; one ' is not")]
    [InlineData("a \"b'", "every quote closed; one \" is not")]
    [InlineData("a | b", "'|' has a meaning only in a shell; add --shell")]
    [InlineData("a > b", "'>' has a meaning only in a shell")]
    [InlineData("a && b", "'&' has a meaning only in a shell")]
    [InlineData("a *.txt", "'*' has a meaning only in a shell")]
    [InlineData("echo \"$HOME\"", "'$' has a meaning only in a shell")]
    public void Split_OfWhatIsNoProgramWithArguments_SaysWhy(string text, string why) =>
        Assert.Contains(why, Assert.Throws<BadInputException>(() => CommandWords.Split(new OptionValue("COMMAND", text))).Message, StringComparison.Ordinal);
}
