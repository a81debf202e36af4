using System.Text;

// A class with methods to measure. It knows nothing of weir: parameters of the constructor and public properties are set with --param.
public class Joining(int count = 16)
{
    private readonly string[] _words = [.. Enumerable.Range(0, count).Select(i => $"word {i}")];

    // Results are consumed, and tasks awaited.
    public string Plus()
    {
        string text = "";
        foreach (string word in _words)
        {
            text += word;
        }

        return text;
    }

    public string Builder()
    {
        StringBuilder text = new();
        foreach (string word in _words)
        {
            text.Append(word);
        }

        return text.ToString();
    }
}
