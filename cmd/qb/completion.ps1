# PowerShell completion for qb.
Register-ArgumentCompleter -Native -CommandName '@NAMES@'.Split(' ') -ScriptBlock {
    param($word, $ast, $position)
    $elements = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -le $position } | ForEach-Object { $_.ToString() })
    $program = $elements[0]
    $typed = @($elements | Select-Object -Skip 1)
    if ($word -ne '' -and $typed.Count -gt 0) { $typed = @($typed | Select-Object -SkipLast 1) }
    & $program __complete @typed $word 2>$null | ForEach-Object {
        $text, $help = $_ -split "`t", 2
        if ($text -ne '') { # else files, folders or commands, which PowerShell completes itself
            if (-not $help) { $help = $text }
            [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $help)
        }
    }
}
