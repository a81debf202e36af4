using Weir.Cli.Kit.Options;

namespace Weir.Cli.Kit.Processes;

/// <summary>
/// Splits a command into a program and its arguments as a shell does: at spaces, with quotes and backslashes. Other shell syntax is not supported.
/// </summary>
internal static class CommandWords
{
    private const string OfAShell = "|&;<>()$`*?";

    /// <summary>A word as <see cref="Split"/> reads it back, whatever is in it.</summary>
    public static string Quoted(string word) => word.Length > 0 && word.All(static c => char.IsLetterOrDigit(c) || "-_./=:,+@%{}".Contains(c))
        ? word
        : $"'{word.Replace("'", @"'\''", StringComparison.Ordinal)}'";

    /// <summary>Splits a command.</summary>
    /// <returns>The program, and its arguments.</returns>
    /// <exception cref="Hosting.BadInputException">The command is empty, has an unmatched quote, or needs a shell.</exception>
    public static IReadOnlyList<string> Split(OptionValue command)
    {
        List<string> words = [];
        StringBuilder word = new();
        bool isInWord = false;
        char quote = '\0';
        string text = command.Text;
        for (int i = 0; i < text.Length; i++)
        {
            char c = text[i];
            if (quote == '\0' && char.IsWhiteSpace(c))
            {
                if (isInWord)
                {
                    words.Add(word.ToString());
                    word.Clear();
                    isInWord = false;
                }

                continue;
            }

            isInWord = true;
            if (c == quote)
            {
                quote = '\0';
            }
            else if (quote == '\0' && (c is '\'' or '"'))
            {
                quote = c;
            }
            else if (IsEscape(text, i, quote))
            {
                word.Append(text[++i]);
            }
            else if (IsOfAShell(c, quote))
            {
                throw command.Bad($"a program and its arguments; '{c}' has a meaning only in a shell; add --shell, or put it in single quotes");
            }
            else
            {
                word.Append(c);
            }
        }

        if (quote != '\0')
        {
            throw command.Bad($"a program and its arguments with every quote closed; one {quote} is not");
        }

        if (isInWord)
        {
            words.Add(word.ToString());
        }

        return words.Count > 0 && words[0].Length > 0 ? words : throw command.Bad("a program and its arguments, such as 'grep -c x file.txt'");
    }

    // Within double quotes, a backslash escapes only special characters. On Windows, it is part of paths.
    private static bool IsEscape(string text, int at, char quote) =>
        text[at] == '\\' && at + 1 < text.Length && !OperatingSystem.IsWindows()
            && (quote == '\0' || (quote == '"' && (text[at + 1] is '"' or '\\' or '$' or '`')));

    private static bool IsOfAShell(char c, char quote) => quote switch
    {
        '\0' => OfAShell.Contains(c, StringComparison.Ordinal),
        '"' => c is '$' or '`',
        _ => false,
    };
}
