using System.Text.RegularExpressions;

namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>What a dead letter says in a line.</summary>
internal static partial class LetterText
{
    /// <summary>The first line of the error, without the type of an exception: that is a name of the program's, which tells its user nothing.</summary>
    public static string Message(DeadLetter letter)
    {
        string line = letter.Error.Split('\n')[0].TrimEnd('\r');

        // Only these letters have an exception. In the others, nothing is taken for a type.
        if (letter.Reason is not (DeadLetterReason.Failed or DeadLetterReason.Rejected or DeadLetterReason.TimedOut))
        {
            return line;
        }

        string message = line[TypeName().Match(line).Length..].Trim();
        return message.Length > 0 ? message : line;
    }

    // A name with its namespace, or one that says what it is; then what it is of, if it is generic.
    [GeneratedRegex(@"^(?:(?:[\p{L}_]\w*[.+])+[\p{L}_]\w*|\w*Exception)(?:`\d+)?(?:\[.*?\]+)?: ")]
    private static partial Regex TypeName();
}
